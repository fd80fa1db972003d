"""The line to one supervisor: messages in, messages out.

Knows the wire; must not know what the messages mean.
"""

import socket
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from budwood.errors import ExecutorError
from budwood.executors.base import Loop
from budwood.executors.local.line import Line
from budwood.executors.local.wire import FromSupervisor, Hello, HelloReply, Refused, ToSupervisor, decode, encode

_CHUNK = 64 * 1024
HELLO_WITHIN_S = 3.0


class Link:
    """A connection to one supervisor."""

    def __init__(self, sock: socket.socket, *, came: bytes = b"") -> None:
        self._line = Line(sock, came=came)

    def attach(self, loop: Loop, *, on_message: Callable[[FromSupervisor], None], on_gone: Callable[[], None]) -> None:
        """Hand messages to a call-back from the loop's next turn on, those that already came first."""
        self._line.attach(loop, on_line=lambda line: on_message(_read(line)), on_gone=on_gone)

    def send(self, message: ToSupervisor, *, fds: Sequence[int] = ()) -> None:
        """Send a message, now or as soon as there is room; descriptors travel with its first byte."""
        self._line.send(encode(message), fds=fds)

    def hear(self, within_s: float) -> bool:
        """Take what is there, or comes within a time, without the loop; say whether there was anything."""
        return self._line.hear(within_s)

    def close(self) -> None:
        """Hang up."""
        self._line.close()


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
