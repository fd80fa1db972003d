"""A workspace that is a copy, for a project outside git; what is kept of it lies in a repository of our own.

What the project held when the run began is the base, byte for byte. Knows git and directories; must not know leases.
"""

from collections.abc import Mapping
from pathlib import Path

from budwood.workspaces.git import Git
from budwood.workspaces.keeping import Past
from budwood.workspaces.repository import Repository


class Copy:
    """Makes copies of one directory."""

    skip = None
    raw = True

    def equip(self, tree: Path, base: str, *, cones: str) -> None:
        """Do nothing: a copy has no `.git` of ours, and another's goes with everything else that is not the base's."""

    def past(self, tree: Path) -> Past | None:
        """Return nothing: whatever git is in there is kept as files."""
        return None


def open_kept(project: Path, git_dir: Path, environ: Mapping[str, str]) -> Repository:
    """Open the repository that keeps what a project outside git and its copies hold; make it if there is none."""
    git = Git(environ=environ)
    if not (git_dir / "HEAD").exists():
        git_dir.parent.mkdir(parents=True, exist_ok=True)
        git.run("init", "--quiet", "--bare", "--template=", str(git_dir), cwd=project)
    return Repository(project, git_dir, git.aimed(git_dir=git_dir))
