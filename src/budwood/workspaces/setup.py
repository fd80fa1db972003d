"""Whether what `setup` makes in a directory is there and up to date.

It is, if it was made by the same command, from the same lock files, and nothing of it was taken away since. Knows git
and directories; must not run the command, or know how it ended.
"""

import hashlib
import os
import re
from pathlib import Path

from msgspec import Struct

from budwood.workspaces.git import Git
from budwood.workspaces.patterns import matcher
from budwood.workspaces.records import put, read, take_away
from budwood.workspaces.survey import look_through

LOCKS = (
    "package-lock.json",
    "pnpm-lock.yaml",
    "yarn.lock",
    "uv.lock",
    "poetry.lock",
    "requirements*.txt",
    "Pipfile.lock",
    "Cargo.lock",
    "go.sum",
    "Gemfile.lock",
    "composer.lock",
)
"""Files that say what is to be installed, in any directory of a project."""
_RECORD = "setup.json"


class Setup(Struct, frozen=True, kw_only=True):
    """What is run in a directory before the first attempt there."""

    command: str
    locks: tuple[str, ...] = LOCKS
    """Patterns of the files of the base that it depends on."""


class Done(Struct, frozen=True, kw_only=True):
    """What is known of the last `setup` that succeeded."""

    digest: str
    made: tuple[str, ...]
    """What it left that is spared."""


class Setups:
    """Tells of the directories of one pool whether `setup` is due there."""

    def __init__(self, setup: Setup | None, git: Git, *, spare: re.Pattern[bytes]) -> None:
        self._setup = setup
        self._git = git
        self._spare = spare
        self._locks = matcher(() if setup is None else setup.locks, key="setup_locks")
        self._digests: dict[str, str] = {}

    def is_due(self, folder: Path, base: str) -> bool:
        """Say whether `setup` must run in a place before it is worked in."""
        if self._setup is None:
            return False
        done = read(folder / _RECORD, Done)
        if done is None or not done.made or done.digest != self._digest(base):
            return True
        return not all(os.path.lexists(folder / "tree" / path) for path in done.made)

    def expect(self, folder: Path, base: str) -> None:
        """Forget what was done, if it is to be done again: it may fail half way."""
        if self.is_due(folder, base):
            take_away(folder / _RECORD)

    def note(self, folder: Path, base: str) -> None:
        """Write down that it succeeded. What it made and is not spared is gone with the next reset."""
        found = look_through(folder / "tree", skip=".git", spare=self._spare)
        put(folder / _RECORD, Done(digest=self._digest(base), made=tuple(sorted(map(os.fsdecode, found.spared)))))

    def _digest(self, base: str) -> str:
        if base not in self._digests:
            assert self._setup is not None
            digest = hashlib.sha256(self._setup.command.encode() + b"\0")
            for entry in self._git.run("ls-tree", "-r", "-z", "--full-tree", base).split(b"\0")[:-1]:
                if self._locks.fullmatch(entry.partition(b"\t")[2]):
                    digest.update(entry + b"\0")
            self._digests[base] = digest.hexdigest()
        return self._digests[base]
