"""Where a new worker finds its driver: a socket in the run's short directory.

Knows sockets; must not know calls. The worker removes the file once it is in.
"""

import socket
from collections.abc import Callable
from pathlib import Path

from budwood.errors import ExecutorError
from budwood.executors.base import Loop
from budwood.executors.local.line import Line
from budwood.executors.local.paths import make_runtime

_TRIES = 5


class Door:
    """Lets one worker in."""

    def __init__(self, path: Path, *, loop: Loop, on_enter: Callable[[Line], None]) -> None:
        self._path = path
        self._loop = loop
        self._on_enter = on_enter
        self._sock = _listen(path)
        loop.watch(self._sock.fileno(), self._knocked)

    def _knocked(self) -> None:
        try:
            sock, _ = self._sock.accept()
        except OSError:  # it knocked and died
            return
        self.close()
        self._on_enter(Line(sock))

    def close(self) -> None:
        """Let nobody in any more."""
        if self._sock.fileno() >= 0:
            self._loop.forget(self._sock.fileno())
            self._sock.close()
            self._path.unlink(missing_ok=True)


def _listen(path: Path) -> socket.socket:
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        _bind(sock, path)
        sock.listen(1)
    except OSError as error:
        sock.close()
        raise ExecutorError(f"{path} cannot be made for a worker: {error.strerror or error}") from error
    sock.setblocking(False)
    return sock


def _bind(sock: socket.socket, path: Path) -> None:
    for _ in range(_TRIES):
        path.unlink(missing_ok=True)  # of a driver that was killed
        try:
            return sock.bind(str(path))
        except FileNotFoundError:  # the last supervisor of an earlier drive has just removed the directory
            make_runtime(path.parent.parent, path.parent.name)
    raise FileNotFoundError(f"{path.parent} vanishes again and again")
