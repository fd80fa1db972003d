"""A workspace that is a copy, for a project outside git; what is kept of it lies in a repository of our own.

What the project held when the run began is the base, byte for byte. Knows git and directories; must not know leases.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from budwood.workspaces.clone import remove_git
from budwood.workspaces.git import Git
from budwood.workspaces.keeping import Keeper, Past
from budwood.workspaces.repository import Repository
from budwood.workspaces.whole import give_names_back


class Copy:
    """Makes copies of one directory."""

    skip = None

    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper

    def reset(self, tree: Path, base: str, *, index: Path, spare: Sequence[str]) -> None:
        """Give a directory the files of a base."""
        remove_git(tree)
        self._keeper.whole.git.aimed(work_tree=tree, index=index).put(base, spare=spare)
        give_names_back(tree)

    def past(self, tree: Path) -> Past | None:
        """Return nothing: whatever git is in there is kept as files."""
        return None


def open_kept(project: Path, git_dir: Path, environ: Mapping[str, str]) -> Repository:
    """Open the repository that keeps what a project outside git and its copies hold; make it if there is none."""
    git = Git(environ=environ)
    if not (git_dir / "HEAD").exists():
        git_dir.parent.mkdir(parents=True, exist_ok=True)
        git.run("init", "--quiet", "--bare", "--template=", str(git_dir), cwd=project)
    return Repository(project, git_dir, git.aimed(git_dir=git_dir), is_shallow=False, is_partial=False)
