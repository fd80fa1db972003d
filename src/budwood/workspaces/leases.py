"""Who has which directory of a pool: a record on disk that outlives every process.

A lease ends when its holder gives the directory back, never because somebody died: what an attempt left may be the only
copy. Knows files; must not know git.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from budwood.errors import WorkspaceError

_LEASE, _SHUT = "lease.json", "shut.json"


class Held(Struct, frozen=True, kw_only=True):
    """A lease, as it is written."""

    holder: str
    """Whose it is: a run and an attempt or lane in it."""
    base: str


class Shut(Struct, frozen=True, kw_only=True):
    """Why a directory is not handed out any more."""

    reason: str


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
        _put(self.folder / _SHUT, Shut(reason=reason))


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Be the only one who takes or gives directories of a pool; the lock file is never removed."""
    with (folder / "lock").open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


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
