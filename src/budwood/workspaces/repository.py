"""The user's repository, as far as workspaces need it: read, and given objects and refs of ours; never more.

Knows git. Must not know runs, and must not touch a checkout, an index, a stash, settings or anybody else's refs.
"""

import os
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from budwood.errors import UsageError, WorkspaceError
from budwood.workspaces.git import AUTHOR, Git, GitFailed

OLDEST = (2, 39)
_OLD_S = 60.0
"""No git holds the lock of a single ref for so long."""
_OF_FILES = ("core.autocrlf", "core.eol", "core.excludesfile", "core.attributesfile", "core.filemode", "core.symlinks")


@dataclass(frozen=True)
class Repository:
    """Where it is, and what is special about it."""

    root: Path
    """The checkout that the user stands in."""
    common: Path
    """The directory that all of its checkouts share."""
    git: Git

    @cached_property
    def form(self) -> str:
        """How its objects are named: sha1 or sha256."""
        return self.git.ask("rev-parse", "--show-object-format")

    @cached_property
    def _configured(self) -> tuple[tuple[str, str], ...]:
        """What git was told by the user's settings and the repository's own, the later the stronger."""
        listed = self.git.ask("config", "-z", "--list").split("\0")[:-1]
        return tuple((name, value) for name, _, value in (entry.partition("\n") for entry in listed))

    @property
    def is_partial(self) -> bool:
        """Whether there are objects that were not fetched yet."""
        return any(name.startswith("remote.") and name.endswith(".promisor") for name, _ in self._configured)

    @property
    def objects(self) -> Path:
        """Where its objects lie."""
        return self.common / "objects"

    def settings(self) -> tuple[tuple[str, str], ...]:
        """Return the user's settings that say how files become objects; filters are the user's own programs."""
        return tuple(pair for pair in self._configured if pair[0] in _OF_FILES or pair[0].startswith("filter."))

    @property
    def lfs(self) -> Path:
        """Where the user's git LFS looks for the files that commits have only pointers to."""
        return self.common / dict(self._configured).get("lfs.storage", "lfs")

    def identity(self) -> dict[str, str]:
        """Return who commits here, as variables for another's git: the user, as far as git knows one."""
        values, keys = dict(self._configured), zip(("user.name", "user.email"), AUTHOR, strict=True)
        name, email = (values.get(key) or ours for key, ours in keys)
        return {
            f"GIT_{who}_{what}": text
            for who in ("AUTHOR", "COMMITTER")
            for what, text in (("NAME", name), ("EMAIL", email))
        }

    def resolve(self, base: str) -> str:
        """Return the commit that is meant; where there is none yet, one of an empty tree."""
        try:
            return self.git.ask("rev-parse", "--verify", "--quiet", "--end-of-options", f"{base}^{{commit}}")
        except GitFailed:
            if base == "HEAD" and not self._has_commits():
                return self.git.commit(self.git.ask("mktree", "--missing"), [], "an empty beginning\n")
            raise UsageError(
                f"{self.root} has no commit {base!r} to start from", hint="name a branch, a tag or a commit"
            ) from None

    def _has_commits(self) -> bool:
        return bool(self.git.ask("rev-list", "--all", "--max-count=1"))

    def submodules(self, commit: str) -> list[str]:
        """List where a commit has other repositories, as its `.gitmodules` says."""
        words = ("config", "--blob", f"{commit}:.gitmodules", "-z", "--get-regexp", r"^submodule\..*\.path$")
        entries = self.git.run(*words, codes=(0, 1, 128)).split(b"\0")  # 128: there is no such file
        return [os.fsdecode(entry.partition(b"\n")[2]) for entry in entries if entry]

    def has_lfs(self, commit: str) -> bool:
        """Say whether a commit leaves files to git LFS, and has only pointers to them."""
        words = ("grep", "-l", "--fixed-strings", "filter=lfs", commit, "--", ":(glob)**/.gitattributes")
        return bool(self.git.run(*words, codes=(0, 1)))

    def dirty(self) -> list[str]:
        """List the files that differ from HEAD or that git does not know, without touching the index."""
        git = self.git.aimed(work_tree=self.root)
        entries = git.run("--no-optional-locks", "status", "--porcelain=v1", "-z", "--no-renames", cwd=self.root)
        return [os.fsdecode(entry[3:]) for entry in entries.split(b"\0") if entry]

    def with_dirty(self, index: Path) -> str:
        """Write the checkout as it is into a commit on top of HEAD, with an index of ours; the user's stays."""
        git = self.git.aimed(work_tree=self.root, index=index)
        head = self.resolve("HEAD")
        git.run("read-tree", head)
        git.run("add", "--all", "--", ".", cwd=self.root)
        tree = git.ask("write-tree")
        return git.commit(tree, [head], "the checkout as it was\n")

    def set_ref(self, name: str, commit: str) -> None:
        """Make a ref of ours point to a commit, and read it back; only then may what it keeps go elsewhere."""
        if not name.startswith("refs/budwood/"):
            raise WorkspaceError(f"{name} is not a ref of budwood's, and is left alone")
        _remove_old(self.common / f"{name}.lock")
        self.git.run("update-ref", name, commit)
        found = self.git.ask("rev-parse", "--verify", name)
        if found != commit:
            raise WorkspaceError(f"{name} was written and reads {found}, not {commit}; nothing is removed")

    def ref(self, name: str) -> str | None:
        """Return what a ref points to, if it is there."""
        try:
            return self.git.ask("rev-parse", "--verify", "--quiet", name)
        except GitFailed:
            return None


def _remove_old(lock: Path) -> None:
    """Remove the lock of a ref of ours that a git left which was killed; one of now is somebody's, if only gc's."""
    with suppress(FileNotFoundError):
        if time.time() - lock.stat().st_mtime > _OLD_S:
            lock.unlink()


def find_repository(directory: Path, environ: Mapping[str, str]) -> Repository | None:
    """Find the repository whose checkout a directory is in; None outside of any."""
    git = Git(environ=environ)
    _refuse_old(git)
    places = ("--path-format=absolute", "--git-common-dir", "--git-dir", "--show-toplevel")
    try:
        common, own, root = map(Path, git.ask("rev-parse", *places, cwd=directory).splitlines())
    except GitFailed as error:
        if "dubious ownership" in error.said:
            raise WorkspaceError(
                f"git does not trust {directory}: it belongs to somebody else",
                hint=f"if you do: git config --global --add safe.directory {directory}",
            ) from error
        if "must be run in a work tree" in error.said:
            raise UsageError(
                f"{directory} has no files to work on: it is a bare repository, or inside of a .git",
                hint="make a checkout and run there: git worktree add ../checkout",
            ) from error
        return None
    return Repository(root, common, git.aimed(git_dir=own))  # a linked worktree has a HEAD of its own


@cache
def _version(path: str) -> str:
    return Git(environ={"PATH": path}).ask("--version")


def _refuse_old(git: Git) -> None:
    said = _version(git.environ.get("PATH", ""))
    numbers = tuple(int(part) for part in said.split()[2].split(".")[:2] if part.isdecimal())
    if numbers < OLDEST:
        raise WorkspaceError(f"{said} is too old for workspaces", hint="budwood needs git 2.39 or newer")
