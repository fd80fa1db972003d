"""Commits merged without any working tree: `git merge-tree`, in a repository's objects alone.

Knows git; must not know lanes or runs, and must not move a ref.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from budwood.errors import WorkspaceError
from budwood.workspaces.git import Git

_SHOWN = 10
_WORDS = ("merge-tree", "--write-tree", "--stdin", "-z", "--name-only", "--no-messages", "--allow-unrelated-histories")


class Merge(NamedTuple):
    """Two commits merged."""

    tree: str
    """With markers in its files where they conflict."""
    is_clean: bool
    files: tuple[str, ...] = ()
    """Those that conflict."""


class Conflict(WorkspaceError):
    """Two commits changed the same places; nothing was written but objects."""

    def __init__(self, ours: str, theirs: str, files: tuple[str, ...]) -> None:
        super().__init__(f"{theirs[:12]} cannot be merged into {ours[:12]}: {named(files)}")
        self.files = files


def named(files: Sequence[str]) -> str:
    """Name some files in one line."""
    more = f" and {len(files) - _SHOWN} more" if len(files) > _SHOWN else ""
    return ", ".join(files[:_SHOWN]) + more


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
    merge = merge_tree(git, ours, theirs)
    if not merge.is_clean:
        raise Conflict(ours, theirs, merge.files)
    return git.commit(merge.tree, [ours, theirs], message)


def merge_tree(git: Git, ours: str, theirs: str) -> Merge:
    """Merge two commits."""
    return merge_trees(git, [(ours, theirs)])[0]


def merge_trees(git: Git, pairs: Iterable[tuple[str, str]]) -> list[Merge]:
    """Merge pairs of commits, each for itself, with one program for all."""
    lines = "".join(f"{ours} {theirs}\n" for ours, theirs in pairs).encode()
    fields = iter(git.run(*_WORDS, stdin=lines).decode(errors="surrogateescape").split("\0")[:-1])
    merges = []
    for flag in fields:
        tree = next(fields)
        files = tuple(dict.fromkeys(iter(lambda: next(fields), "")))
        merges.append(Merge(tree, flag == "1", files))
    return merges


def is_ancestor(git: Git, older: str, newer: str) -> bool:
    """Say whether a commit holds another in its history, or is it."""
    return older == newer or git.ask("merge-base", "--independent", older, newer) == newer
