"""A network that breaks on cue: a door on loopback to a server's socket, shut in the middle of a message.

Knows sockets only; must not know what is said over them.
"""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Literal

Cut = Literal["before", "half", "during", "after"]
"""When, seen from the server: it got nothing, a half, all of it; or all of it, and only its answer was lost."""


class Door:
    """Lets everything through until it is told to cut."""

    def __init__(self, target: Path) -> None:
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._threads: list[threading.Thread] = []
        self._ends: list[socket.socket] = []
        self._cut: Cut | None = None
        self._skip = 0
        self.cuts = 0
        self._start(self._accept)

    @property
    def port(self) -> int:
        """Where it stands."""
        return int(self._listener.getsockname()[1])

    def cut_next(self, how: Cut, *, skip: int = 0) -> None:
        """Cut at the next message from a client, after letting `skip` of them through."""
        self._cut, self._skip = how, skip

    def leave_alone(self) -> None:
        """Cut no more."""
        self._cut = None

    def close(self) -> None:
        """Shut it for good; wait for everybody to be gone."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._shut(*self._ends)
        for thread in self._threads:
            thread.join(10)
        for end in self._ends:
            end.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            self._ends += (client, server)
            try:
                server.connect(str(self._target))
            except OSError:
                self._shut(client)
                continue
            swallowing = threading.Event()
            self._start(partial(self._to_server, client, server, swallowing))
            self._start(partial(self._to_client, client, server, swallowing))

    def _to_server(self, client: socket.socket, server: socket.socket, swallowing: threading.Event) -> None:
        while data := _received(client):
            how = self._due()
            if how == "after":
                swallowing.set()
            with suppress(OSError):
                server.sendall({"before": b"", "half": data[: len(data) // 2]}.get(how or "", data))
            if how in ("before", "half", "during"):
                break
        self._shut(client, server)

    def _to_client(self, client: socket.socket, server: socket.socket, swallowing: threading.Event) -> None:
        while data := _received(server):
            if swallowing.is_set():
                break
            with suppress(OSError):
                client.sendall(data)
        self._shut(client, server)

    def _due(self) -> Cut | None:
        if self._cut is None:
            return None
        if self._skip:
            self._skip -= 1
            return None
        how, self._cut = self._cut, None
        self.cuts += 1
        return how

    def _start(self, work: Callable[[], None]) -> None:
        thread = threading.Thread(target=work, daemon=True)
        self._threads.append(thread)
        thread.start()

    @staticmethod
    def _shut(*ends: socket.socket) -> None:
        for end in ends:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


def _received(end: socket.socket) -> bytes:
    try:
        return end.recv(1 << 20)
    except OSError:
        return b""


@contextmanager
def door_to(target: Path) -> Iterator[Door]:
    """Put a door before a server's socket."""
    door = Door(target)
    try:
        yield door
    finally:
        door.close()
