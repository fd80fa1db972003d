"""What workspaces are tried on: a repository, its base, and git as an agent would call it.

Knows the contract of workspaces and git; must not know any kind, or what is tried.
"""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from budwood.workspaces.base import Workspaces
from budwood.workspaces.repository import Repository

HOLDER, REF = "night/3.1", "refs/budwood/night/3.1"
BASE = {"kept.txt", "sub/deep.txt", "requirements.txt", ".gitignore"}


@dataclass
class Ground:
    """Workspaces to try, and the repository whose files they hand out."""

    repository: Repository
    workspaces: Workspaces
    base: str
    has_git: bool = True
    """Whether a workspace is a checkout; otherwise what an agent does with git there is files like others."""
    shares_git: bool = False
    """Whether branches and the stash of a workspace are the repository's own."""
    with_setup: Workspaces | None = None
    """The same with a `setup`, whose keeps are ignored/deps and tools."""
    with_cones: Workspaces | None = None
    """The same with the one cone `elsewhere`, which the base does not have."""


def bytes_in(root: Path) -> dict[str, bytes]:
    """Read every file and link below a directory, but for its own `.git`."""
    found: dict[str, bytes] = {}
    for folder, folders, files in os.walk(root):
        if Path(folder) == root and ".git" in folders:
            folders.remove(".git")
        for name in (*files, *(each for each in folders if (Path(folder) / each).is_symlink())):
            path = Path(folder) / name
            if path.is_symlink():
                found[str(path.relative_to(root))] = b"-> " + os.fsencode(os.readlink(path))
            elif path.is_file() and name != ".git":
                found[str(path.relative_to(root))] = path.read_bytes()
    return found


def git(where: Path, *words: str) -> str:
    """Run git as an agent would, in a workspace."""
    identity = {
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@b",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@b",
    }
    done = subprocess.run(
        ["git", *words], cwd=where, env={**os.environ, **identity}, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def check_clean(ground: Ground, tree: Path) -> None:
    """See that git finds a workspace as it should be handed out."""
    if not ground.has_git:
        assert not (tree / ".git").exists()
        return
    # An agent's monitor may be in the user's own settings by now, where those are shared.
    assert git(tree, "-c", "core.fsmonitor=false", "status", "--porcelain", "--ignored") == ""
    assert git(tree, "rev-parse", "HEAD") == ground.base
    assert ground.shares_git or git(tree, "stash", "list") == ""
