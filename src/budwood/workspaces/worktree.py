"""A workspace that is a linked worktree, for those who want `git worktree list` to show it.

Git shares settings, hooks, stash and refs among worktrees: what an agent does to those it does to the user's, which a
fingerprint before and after can only tell. They are made one at a time. Knows git; must not know leases.
"""

import shutil
from pathlib import Path

from budwood.workspaces.clone import commits_of_reflogs, remove_git
from budwood.workspaces.git import Git, GitFailed
from budwood.workspaces.keeping import Past
from budwood.workspaces.leases import locked
from budwood.workspaces.repository import Repository


class Worktree:
    """Makes linked worktrees of one repository."""

    skip = ".git"
    raw = False

    def __init__(self, repository: Repository, folder: Path) -> None:
        self._repository = repository
        self._folder = folder

    def equip(self, tree: Path, base: str, *, cones: str) -> Path:
        """Link a directory to the repository anew; return where it has its index.

        Cones are in that index alone: a setting for them would be the user's own.
        """
        git = self._repository.git
        name = f"budwood-{tree.parent.name}"
        with locked(self._folder):
            # Git makes one in an empty directory only: so beside it, and what it made is moved.
            beside = tree.parent / name
            _unlink(self._repository.common, tree)
            _unlink(
                self._repository.common, beside
            )  # of one of ours that was killed; others that git misses may be on a disk that is away
            if beside.exists():
                shutil.rmtree(beside)
            git.run("worktree", "add", "--quiet", "--detach", "--no-checkout", str(beside), base)
            admin = Path((beside / ".git").read_text().removeprefix("gitdir: ").strip())
            (admin / "gitdir").write_text(f"{tree / '.git'}\n")
            (beside / ".git").rename(tree / ".git")
            beside.rmdir()
        return admin / "index"

    def past(self, tree: Path) -> Past | None:
        """Name the commit that it stands at; branches and the stash are the repository's, and stay there."""
        admin = admin_of(self._repository.common, tree)
        if admin is None:
            return None
        git = Git(environ=self._repository.git.environ, git_dir=admin)
        try:
            tips = commits_of_reflogs(git, "HEAD")
            return Past(git, tuple(tips), head=tips[0])
        except GitFailed as error:
            return Past(git, problem=error.message)


def admin_of(common: Path, tree: Path) -> Path | None:
    """Find what a repository has about a directory, by its own word: an agent may have changed the link."""
    for path in (common / "worktrees").glob("*/gitdir"):
        if Path(path.read_text().strip()) == tree / ".git":
            return path.parent
    return None


def _unlink(common: Path, tree: Path) -> None:
    admin = admin_of(common, tree)
    if admin is not None:
        shutil.rmtree(admin)
    remove_git(tree)
