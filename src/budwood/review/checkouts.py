"""The user's checkouts, where something of theirs is to change because they asked for it.

Their settings and filters hold there, only hooks are off. Knows git; must not know runs.
"""

import os
import shlex
from dataclasses import dataclass
from pathlib import Path

from budwood.workspaces import Repository
from budwood.workspaces.git import Git

_REBASES = ("rebase-merge/head-name", "rebase-apply/head-name")


@dataclass(frozen=True, kw_only=True)
class UsersGit(Git):
    """Git as the user has it: large files get their contents, not pointers."""

    def _environment(self) -> dict[str, str]:
        given = self.environ.get("GIT_LFS_SKIP_SMUDGE")
        environment = {name: value for name, value in super()._environment().items() if name != "GIT_LFS_SKIP_SMUDGE"}
        return environment if given is None else environment | {"GIT_LFS_SKIP_SMUDGE": given}


def users_git(repository: Repository) -> UsersGit:
    """Aim the user's git at the checkout that they stand in."""
    return UsersGit(environ=repository.git.environ, git_dir=repository.git.git_dir, work_tree=repository.root)


def current_branch(repository: Repository) -> str | None:
    """Name the branch that the user stands on; None on a detached HEAD."""
    name = repository.git.run("symbolic-ref", "--quiet", "--short", "HEAD", codes=(0, 1))
    return name.decode().rstrip("\n") or None


def checkout_of(repository: Repository, branch: str) -> Path | None:
    """Find the checkout that stands on a branch."""
    folder = None
    for line in repository.git.run("worktree", "list", "--porcelain", "-z").split(b"\0"):
        key, _, value = line.partition(b" ")
        if key == b"worktree":
            folder = Path(os.fsdecode(value))
        elif line == b"branch refs/heads/" + os.fsencode(branch):
            return folder
    return None


def is_rebased(repository: Repository, branch: str) -> bool:
    """Say whether a checkout is in the middle of a rebase of a branch; it stands on none meanwhile."""
    places = (repository.common, *(repository.common / "worktrees").glob("*"))
    files = (place / name for place in places for name in _REBASES)
    return any(file.is_file() and file.read_text().strip() == f"refs/heads/{branch}" for file in files)


def fast_forward(repository: Repository, folder: Path, commit: str) -> None:
    """Move the branch and the files of a checkout ahead; GitFailed, and nothing changed, where that would cost any."""
    git = UsersGit(environ=repository.git.environ, work_tree=folder, git_dir=_git_dir(repository, folder))
    git.run("merge", "--ff-only", "--no-overwrite-ignore", "--quiet", commit, cwd=folder)


def fast_forward_command(folder: Path, commit: str) -> str:
    """Write the same as the user would type it."""
    return f"git -C {shlex.quote(str(folder))} merge --ff-only --no-overwrite-ignore {commit}"


def _git_dir(repository: Repository, folder: Path) -> Path:
    return Path(Git(environ=repository.git.environ).ask("rev-parse", "--absolute-git-dir", cwd=folder))
