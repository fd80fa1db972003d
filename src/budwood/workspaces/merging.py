"""Commits merged without any working tree: `git merge-tree`, in a repository's objects alone.

Knows git; must not know lanes or runs, and must not move a ref.
"""

from collections.abc import Iterable

from budwood.errors import WorkspaceError
from budwood.workspaces.git import Git

_SHOWN = 10


class Conflict(WorkspaceError):
    """Two commits changed the same places; nothing was written but objects."""

    def __init__(self, ours: str, theirs: str, files: tuple[str, ...]) -> None:
        more = f" and {len(files) - _SHOWN} more" if len(files) > _SHOWN else ""
        super().__init__(f"{theirs[:12]} cannot be merged into {ours[:12]}: {', '.join(files[:_SHOWN])}{more}")
        self.files = files


def merge_all(git: Git, start: str, others: Iterable[str], *, message: str) -> str:
    """Merge commits into the first, one after the other; return the commit that holds all. Raise Conflict."""
    for other in others:
        start = _merged(git, start, other, message=message)
    return start


def _merged(git: Git, ours: str, theirs: str, *, message: str) -> str:
    if is_ancestor(git, theirs, ours):
        return ours
    if is_ancestor(git, ours, theirs):
        return theirs
    tree, files = merge_tree(git, ours, theirs)
    if files:
        raise Conflict(ours, theirs, files)
    return git.commit(tree, [ours, theirs], message)


def merge_tree(git: Git, ours: str, theirs: str) -> tuple[str, tuple[str, ...]]:
    """Merge two commits; return the tree, with markers in it where they conflict, and the files that do."""
    words = ("merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", "--allow-unrelated-histories")
    tree, *files = git.run(*words, ours, theirs, codes=(0, 1)).decode(errors="surrogateescape").split("\0")
    return tree, tuple(dict.fromkeys(name for name in files if name))


def is_ancestor(git: Git, older: str, newer: str) -> bool:
    """Say whether a commit holds another in its history, or is it."""
    return older == newer or git.ask("merge-base", "--independent", older, newer) == newer
