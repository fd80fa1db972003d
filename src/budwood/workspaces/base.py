"""What every kind of workspace promises. `budwood.testing.workspaces` proves it of an implementation.

Rules
- A workspace is one directory, leased to one holder. A lease is a record on disk: it ends when the holder gives the
  directory back, never because a process died. Whoever asks again under the same name gets the same directory.
- What is handed out holds the files of its base and nothing else, whatever the one before left there, and whatever it
  did to its `.git`.
- `keep` writes everything that lies in the directory into the repository, under a ref that was read back, before it
  returns. It changes nothing in the directory and may be repeated.
- What `setup_keeps` names and the base does not have is not kept, is in no candidate, and stays in the directory from
  one holder to the next: `setup` made it, and can make it again.
- With cones (`sparse`), only their files are laid out. The candidate has all others as the base has them; what somebody
  makes outside of the cones is in it as well. What is kept is what lies there.
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
    """Whether it was used before."""
    setup_due: bool
    """Whether `setup` must run there first: it never did, what it depends on has changed, or what it made is gone."""
    ready: bool = False
    """Whether its holder has said, since it was handed out, that it is as it is wanted."""


class Workspaces(ABC):
    """Where attempts work."""

    @abstractmethod
    def hand_out(self, holder: str, base: str) -> Workspace:
        """Lease a directory with the files of a commit; the holder's own, reset, if it has one."""

    @abstractmethod
    def find(self, holder: str) -> Workspace | None:
        """Return what a holder has, untouched."""

    @abstractmethod
    def note_setup(self, holder: str) -> None:
        """Write down that `setup` succeeded in a holder's directory; it is not due there again until that changes."""

    @abstractmethod
    def note_ready(self, holder: str) -> None:
        """Write down that a holder's directory is as it is wanted; one whose holder died before is handed out again."""

    @abstractmethod
    def pin(self, holder: str) -> None:
        """Let a holder's directory stay as it is, even when it was given back; nobody else gets it."""

    @abstractmethod
    def unpin(self, holder: str) -> None:
        """Let what was pinned for a holder be handed on again; harmless if nothing was."""

    @abstractmethod
    def keep(self, holder: str, ref: str, *, message: str) -> Kept:
        """Keep what lies in a holder's directory under a ref."""

    @abstractmethod
    def hand_back(self, holder: str, ref: str) -> None:
        """Give a directory back that was kept under a ref; harmless if it was given back before."""

    @abstractmethod
    def restore(self, commit: str, into: Path) -> None:
        """Write everything that was kept into an empty directory, byte for byte."""
