"""A connection that carries lines both ways, and descriptors one way.

Never blocks the driver's loop: what the socket does not take at once is kept and sent when it does. Knows the socket
and bytes; must not know what a line means.
"""

import os
import select
import socket
from collections import deque
from collections.abc import Callable, Sequence

from budwood.executors.base import Loop

_CHUNK = 64 * 1024  # more than 128 KiB would be mapped anew for each read


_MOST = 64 * 1024 * 1024
"""Whoever says more without ending the line is not heard any more."""


class Line:
    """One end of a Unix stream socket."""

    def __init__(self, sock: socket.socket, *, came: bytes = b"") -> None:
        self._sock = sock
        self._loop: Loop | None = None
        self._incoming = came
        self._outgoing: deque[tuple[memoryview, list[int]]] = deque()
        self._on_line: Callable[[bytes], None] | None = None
        self._on_gone: Callable[[], None] | None = None

    def attach(self, loop: Loop, *, on_line: Callable[[bytes], None], on_gone: Callable[[], None]) -> None:
        """Hand lines to a call-back from the loop's next turn on, those that already came first."""
        self._sock.setblocking(False)
        self._loop, self._on_line, self._on_gone = loop, on_line, on_gone
        loop.watch(self._sock.fileno(), self._readable)
        if self._incoming:  # what came right behind the greeting: no further byte may ever come to wake us for it
            loop.later(0.0, lambda: self._take(b""))

    def send(self, line: bytes, *, fds: Sequence[int] = ()) -> None:
        """Send a line, now or as soon as there is room; descriptors travel with its first byte."""
        sent = 0 if self._outgoing else self._send(line, fds)
        if sent == len(line):
            return
        # The caller closes its descriptors; what has not left yet needs copies.
        copies = [os.dup(fd) for fd in fds] if sent == 0 else []
        self._outgoing.append((memoryview(line)[sent:], copies))  # what is long is not copied again and again
        self._watch()

    def _send(self, data: bytes | memoryview, fds: Sequence[int]) -> int:
        try:
            return socket.send_fds(self._sock, [data], fds) if fds else self._sock.send(data)
        except BlockingIOError:
            return 0
        except OSError:
            return len(data)  # the other end is gone; the loop is about to see that and to settle what was open

    @property
    def is_open(self) -> bool:
        """Say whether nobody has hung up yet."""
        return self._sock.fileno() >= 0

    def close(self) -> None:
        """Hang up."""
        for _, fds in self._outgoing:
            for fd in fds:
                os.close(fd)
        self._outgoing.clear()
        if self._loop is not None and self.is_open:
            self._loop.forget(self._sock.fileno())
        self._sock.close()

    def hear(self, within_s: float = 0.0) -> bool:
        """Take what is there, or comes within a time, without the loop; say whether there was anything."""
        if not self.is_open or not select.select([self._sock], [], [], within_s)[0]:
            return False
        self._readable()
        return True

    def _watch(self) -> None:
        assert self._loop is not None
        self._loop.watch(self._sock.fileno(), self._readable, on_writable=self._writable if self._outgoing else None)

    def _writable(self) -> None:
        while self._outgoing:
            data, fds = self._outgoing[0]
            sent = self._send(data, fds)
            if sent == 0:
                return
            for fd in fds:
                os.close(fd)
            self._outgoing[0] = (data[sent:], [])
            if sent == len(data):
                self._outgoing.popleft()
        self._watch()

    def _readable(self) -> None:
        try:
            chunk = self._sock.recv(_CHUNK)
        except BlockingIOError:
            return
        except OSError:
            chunk = b""
        if not chunk or len(self._incoming) > _MOST:
            self.close()
            if self._on_gone is not None:
                self._on_gone()
            return
        self._take(chunk)

    def _take(self, chunk: bytes) -> None:
        *lines, self._incoming = (self._incoming + chunk).split(b"\n")
        for line in lines:
            if self._on_line is not None:
                self._on_line(line)
