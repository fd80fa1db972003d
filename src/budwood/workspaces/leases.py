"""Who has which directory of a pool: a record on disk that outlives every process.

A lease ends when its holder gives the directory back, never because somebody died: what an attempt left may be the only
copy. Knows files, and that git may outlive who started it; must not know what git does.
"""

import fcntl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from budwood.errors import WorkspaceError
from budwood.workspaces.git import holding
from budwood.workspaces.records import put, read, take_away

_LEASE, _SHUT, _PINNED, _BUSY = "lease.json", "shut.json", "pinned.json", "busy"
_ORPHAN_S = 120.0
"""How long is waited for a git whose driver was killed."""


class Gone(WorkspaceError):
    """Somebody removed a directory that was in use; what was in it is nowhere."""


class Held(Struct, frozen=True, kw_only=True):
    """A lease, as it is written."""

    holder: str
    """Whose it is: a run and an attempt or lane in it."""
    base: str
    ready: bool = False
    """Whether the holder has said that it is as it is wanted."""


class Shut(Struct, frozen=True, kw_only=True):
    """Why a directory is not handed out any more."""

    reason: str = "something failed there, and there was no room to write down what"
    is_kept: bool = False
    """Whether everything in it is in the repository as well."""


class Pinned(Struct, frozen=True, kw_only=True):
    """For whom a directory stays as it is."""

    holder: str


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
        return read(self.folder / _LEASE, Held)

    @property
    def shut(self) -> Shut | None:
        """Why nobody may have it, if so."""
        return read(self.folder / _SHUT, Shut)

    @property
    def pinned(self) -> str | None:
        """For which holder it stays as it is, if so."""
        found = read(self.folder / _PINNED, Pinned)
        return None if found is None else found.holder

    @property
    def is_free(self) -> bool:
        """Whether it may be handed out."""
        return self.held is None and self.shut is None and self.pinned is None

    def hold(self, held: Held) -> None:
        """Write down who has it."""
        put(self.folder / _LEASE, held)

    def let_go(self) -> None:
        """Take the lease off; the directory may be handed on, unless it is shut or pinned."""
        (self.folder / _LEASE).unlink(missing_ok=True)

    def shut_off(self, reason: str, *, is_kept: bool = False) -> None:
        """Never hand it out again: what is in it is left as it is."""
        try:
            put(self.folder / _SHUT, Shut(reason=reason, is_kept=is_kept))
        except OSError:  # on a full disk, where what is in it must not be overwritten either: a name needs no room
            (self.folder / _LEASE).rename(self.folder / _SHUT)

    def pin(self, holder: str) -> None:
        """Let it stay as it is, whoever has it or gives it back."""
        put(self.folder / _PINNED, Pinned(holder=holder))

    def unpin(self) -> None:
        """Let it be handed on again."""
        take_away(self.folder / _PINNED)

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
