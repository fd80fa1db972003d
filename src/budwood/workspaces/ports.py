"""Ports of this machine, so that servers of several attempts do not meet: given under a lock, to one holder each.

Knows files and sockets; must not know leases of directories.
"""

import socket
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import msgspec

from budwood.errors import WorkspaceError
from budwood.workspaces.leases import locked

FIRST, LAST = 20_000, 29_999


class Ports:
    """The ports that the holders of one machine have."""

    def __init__(self, folder: Path, *, first: int = FIRST, last: int = LAST) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._range = range(first, last + 1)

    def take(self, holder: str, count: int) -> tuple[int, ...]:
        """Give a holder so many ports that nobody listens on; those that it has, if it asks again."""
        with locked(self._folder):
            given = self._read()
            mine = given.get(holder, ())
            if len(mine) != count:
                taken = {port for who, ports in given.items() if who != holder for port in ports}
                mine = self._free(count, taken)
                self._write({**given, holder: mine})
            return mine

    def give_back(self, holder: str) -> None:
        """Take a holder's ports back; harmless if it has none."""
        with locked(self._folder):
            given = self._read()
            if given.pop(holder, None) is not None:
                self._write(given)

    def _free(self, count: int, taken: Iterable[int]) -> tuple[int, ...]:
        mine: list[int] = []
        busy = set(taken)
        for port in self._range:
            if len(mine) == count:
                break
            if port not in busy and _is_free(port):
                mine.append(port)
        if len(mine) < count:
            raise WorkspaceError(
                f"no {count} ports are free between {self._range.start} and {self._range.stop - 1}",
                hint="end what listens there, or let fewer attempts run at once",
            )
        return tuple(mine)

    def _read(self) -> dict[str, tuple[int, ...]]:
        try:
            return msgspec.json.decode((self._folder / "ports.json").read_bytes(), type=dict[str, tuple[int, ...]])
        except FileNotFoundError:
            return {}

    def _write(self, given: dict[str, tuple[int, ...]]) -> None:
        draft = self._folder / "ports.new"
        draft.write_bytes(msgspec.json.encode(given))
        draft.rename(self._folder / "ports.json")


def _is_free(port: int) -> bool:
    with socket.socket() as asked:
        asked.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # one that was closed a moment ago is free
        with suppress(OSError):
            asked.bind(("127.0.0.1", port))
            return True
    return False
