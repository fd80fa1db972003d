"""The line to one supervisor: bytes in, messages out.

Never blocks the driver's loop: what the socket does not take at once is kept and sent when it does. Knows the socket
and the wire; must not know what the messages mean.
"""

import os
import socket
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from budwood.errors import ExecutorError
from budwood.executors.base import Loop
from budwood.executors.local.wire import FromSupervisor, Hello, HelloReply, Refused, ToSupervisor, decode, encode

_CHUNK = 256 * 1024
HELLO_WITHIN_S = 3.0


class Link:
    """A connection to one supervisor."""

    def __init__(self, sock: socket.socket, *, came: bytes = b"") -> None:
        self._sock = sock
        self._loop: Loop | None = None
        self._incoming = came
        self._outgoing: deque[tuple[bytes, list[int]]] = deque()
        self._on_message: Callable[[FromSupervisor], None] | None = None
        self._on_gone: Callable[[], None] | None = None

    def attach(self, loop: Loop, *, on_message: Callable[[FromSupervisor], None], on_gone: Callable[[], None]) -> None:
        """Hand messages to a call-back from the loop's next turn on, those that already came first."""
        self._sock.setblocking(False)
        self._loop, self._on_message, self._on_gone = loop, on_message, on_gone
        loop.watch(self._sock.fileno(), self._readable)
        if self._incoming:  # what came right behind the greeting: no further byte may ever come to wake us for it
            loop.later(0.0, lambda: self._take(b""))

    def send(self, message: ToSupervisor, *, fds: Sequence[int] = ()) -> None:
        """Send a message, now or as soon as there is room; descriptors travel with its first byte."""
        line = encode(message)
        sent = 0 if self._outgoing else self._send(line, fds)
        if sent == len(line):
            return
        # The caller closes its descriptors; what has not left yet needs copies.
        copies = [os.dup(fd) for fd in fds] if sent == 0 else []
        self._outgoing.append((line[sent:], copies))
        self._watch()

    def _send(self, data: bytes, fds: Sequence[int]) -> int:
        try:
            return socket.send_fds(self._sock, [data], fds) if fds else self._sock.send(data)
        except BlockingIOError:
            return 0
        except OSError:
            return len(data)  # the other end is gone; the loop is about to see that and to settle what was open

    def close(self) -> None:
        """Hang up."""
        for _, fds in self._outgoing:
            for fd in fds:
                os.close(fd)
        self._outgoing.clear()
        if self._loop is not None and self._sock.fileno() >= 0:
            self._loop.forget(self._sock.fileno())
        self._sock.close()

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
        if not chunk:
            self.close()
            if self._on_gone is not None:
                self._on_gone()
            return
        self._take(chunk)

    def _take(self, chunk: bytes) -> None:
        *lines, self._incoming = (self._incoming + chunk).split(b"\n")
        for line in lines:
            if self._on_message is not None:
                self._on_message(_read(line))


def shake_hands(path: Path, fence: int) -> tuple[Link, HelloReply] | None:
    """Take a living supervisor over; None when nobody answers. Waits, so it is for the time before the loop runs."""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock.settimeout(HELLO_WITHIN_S)
    try:
        sock.connect(str(path))
        sock.sendall(encode(Hello(fence)))
        buffer = b""
        while b"\n" not in buffer:
            chunk = sock.recv(_CHUNK)
            if not chunk:
                raise ConnectionError
            buffer += chunk
    except OSError:
        sock.close()
        return None
    line, _, rest = buffer.partition(b"\n")
    reply = _read(line)
    if isinstance(reply, Refused):
        sock.close()
        raise ExecutorError(f"a supervisor serves a newer driver (fence {reply.fence}); this one has {fence}")
    if not isinstance(reply, HelloReply):
        sock.close()
        raise ExecutorError(f"a supervisor answered {line[:80]!r} to a greeting")
    return Link(sock, came=rest), reply


def _read(line: bytes) -> FromSupervisor:
    try:
        return decode(line)
    except msgspec.MsgspecError as error:
        raise ExecutorError(
            f"a supervisor of another version answered ({error})", hint="pip install --force-reinstall budwood"
        ) from error
