"""Who has which directory of a pool: a record on disk that outlives every process.

A lease ends when its holder gives the directory back, never because somebody died: what an attempt left may be the only
copy. Knows files, and that git may outlive who started it; must not know what git does.
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from budwood.errors import WorkspaceError
from budwood.workspaces.git import holding

_LEASE, _SHUT, _BUSY = "lease.json", "shut.json", "busy"
_ORPHAN_S = 120.0
"""How long is waited for a git whose driver was killed."""


class Gone(WorkspaceError):
    """Somebody removed a directory that was in use; what was in it is nowhere."""


class Held(Struct, frozen=True, kw_only=True):
    """A lease, as it is written."""

    holder: str
    """Whose it is: a run and an attempt or lane in it."""
    base: str


class Shut(Struct, frozen=True, kw_only=True):
    """Why a directory is not handed out any more."""

    reason: str = "something failed there, and there was no room to write down what"


Record = TypeVar("Record", Held, Shut)


class Place:
    """One directory of a pool and what is written about it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def tree(self) -> Path:
        """Where the files are."""
        return self.folder / "tree"

    @property
    def held(self) -> Held | None:
        """Who has it."""
        return _read(self.folder / _LEASE, Held)

    @property
    def shut(self) -> str | None:
        """Why nobody may have it, if so."""
        found = _read(self.folder / _SHUT, Shut)
        return None if found is None else found.reason

    def hold(self, holder: str, base: str) -> None:
        """Write down who has it."""
        _put(self.folder / _LEASE, Held(holder=holder, base=base))

    def let_go(self) -> None:
        """Take the lease off; the directory may be handed on."""
        (self.folder / _LEASE).unlink(missing_ok=True)

    def shut_off(self, reason: str) -> None:
        """Never hand it out again: what is in it is left as it is."""
        try:
            _put(self.folder / _SHUT, Shut(reason=reason))
        except OSError:  # on a full disk, where what is in it must not be overwritten either: a name needs no room
            (self.folder / _LEASE).rename(self.folder / _SHUT)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Work here when no git of a killed driver does so any more, and without the locks that a killed git left."""
        with (self.folder / _BUSY).open("ab") as file:
            _wait_for(file.fileno(), self.folder)
            for lock in self.folder.glob("*.lock"):
                lock.unlink()
            with holding(file.fileno()):
                yield


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Be the only one who takes or gives directories of a pool; the lock file is never removed."""
    with (folder / "lock").open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with holding(file.fileno()):
            yield


def _wait_for(descriptor: int, folder: Path) -> None:
    until_s = time.monotonic() + _ORPHAN_S
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > until_s:
                raise WorkspaceError(f"a git of a driver that was killed still works in {folder}") from None
        time.sleep(0.02)


def places_in(folder: Path) -> list[Place]:
    """List the directories of a pool, by number."""
    found = [path for path in folder.glob("w*") if path.name[1:].isdecimal()]
    return [Place(path) for path in sorted(found, key=lambda path: int(path.name[1:]))]


def _read(path: Path, kind: type[Record]) -> Record | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except FileNotFoundError:
        return None
    except msgspec.MsgspecError as error:
        raise WorkspaceError(f"{path} cannot be read ({error}); its directory is left as it is") from error


def _put(path: Path, record: Struct) -> None:
    draft = path.with_suffix(".new")
    with draft.open("wb") as file:
        file.write(msgspec.json.encode(record))
        file.flush()
        os.fsync(file.fileno())
    draft.rename(path)
    descriptor = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
