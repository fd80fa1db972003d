"""What every kind of workspace promises. `budwood.testing.workspaces` proves it of an implementation.

Rules
- A workspace is one directory, leased to one holder. A lease is a record on disk: it ends when the holder gives the
  directory back, never because a process died. Whoever asks again under the same name gets the same directory.
- What is handed out holds the files of its base and nothing else, whatever the one before left there, and whatever it
  did to its `.git`.
- `keep` writes everything that lies in the directory into the repository, under a ref that was read back, before it
  returns. It changes nothing in the directory and may be repeated.
- A directory is handed on only after it was kept. One that could not be kept, or holds a file that is too large to be
  kept, is shut: it is left as it is, with the reason.
- The user's checkout, index, stash, settings, hooks and refs are never touched; refs below `refs/budwood/` are ours.

Knows `_core` only; must not print, read the environment, or know runs, agents or executors. Calls may take seconds and
are made from any thread, several at once; each holder's own come one after the other.
"""

from abc import ABC, abstractmethod
from pathlib import Path

from msgspec import Struct

from budwood.workspaces.keeping import Kept


class Workspace(Struct, frozen=True, kw_only=True):
    """A directory that somebody has."""

    holder: str
    path: Path
    base: str
    """The commit whose files it was handed out with."""
    warm: bool
    """Whether it was used before: what `setup` made may still be there."""
    setup_due: bool = False
    """Whether `setup` must run before anything else does."""


class Workspaces(ABC):
    """Where attempts work."""

    @abstractmethod
    def hand_out(self, holder: str, base: str) -> Workspace:
        """Lease a directory with the files of a commit; the holder's own, reset, if it has one."""

    @abstractmethod
    def find(self, holder: str) -> Workspace | None:
        """Return what a holder has, untouched."""

    @abstractmethod
    def keep(self, holder: str, ref: str, *, message: str) -> Kept:
        """Keep what lies in a holder's directory under a ref."""

    @abstractmethod
    def hand_back(self, holder: str, ref: str) -> None:
        """Give a directory back that was kept under a ref; harmless if it was given back before."""

    @abstractmethod
    def restore(self, commit: str, into: Path) -> None:
        """Write everything that was kept into an empty directory, byte for byte."""
