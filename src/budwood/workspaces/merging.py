"""Commits merged without any working tree: `git merge-tree`, in a repository's objects alone.

Knows git; must not know lanes or runs, and must not move a ref.
"""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from budwood.errors import WorkspaceError
from budwood.workspaces.git import Git

_SHOWN = 10
_GONE = f"0 blob {'0' * 40}"
_WORDS = ("merge-tree", "--write-tree", "--stdin", "-z", "--name-only", "--no-messages", "--allow-unrelated-histories")


class Merge(NamedTuple):
    """Two commits merged."""

    tree: str
    """With markers in its files where they conflict."""
    is_clean: bool
    files: tuple[str, ...] = ()
    """Those that conflict, as they are called on either side."""
    told: tuple[str, ...] = ()
    """The same as they are called in the tree: git makes a name up where the other side has a directory, or a link."""


class Conflict(WorkspaceError):
    """Two commits changed the same places; nothing was written but objects."""

    def __init__(self, ours: str, theirs: str, files: tuple[str, ...]) -> None:
        super().__init__(f"{theirs[:12]} cannot be merged into {ours[:12]}: {named(files)}")
        self.theirs, self.files = theirs, files


def named(files: Sequence[str]) -> str:
    """Name some files in one line."""
    more = f" and {len(files) - _SHOWN} more" if len(files) > _SHOWN else ""
    return ", ".join(files[:_SHOWN]) + more


def merge_all(git: Git, start: str, others: Iterable[str], *, message: str, first_wins: bool = False) -> str:
    """Merge commits into the first, one after the other; return the commit that holds all. Raise Conflict.

    With `first_wins`, files that conflict stay as they were before.
    """
    for other in others:
        start = _merged(git, start, other, message=message, first_wins=first_wins)
    return start


def _merged(git: Git, ours: str, theirs: str, *, message: str, first_wins: bool) -> str:
    if is_ancestor(git, theirs, ours):
        return ours
    if is_ancestor(git, ours, theirs):
        return theirs
    merge = merge_tree(git, ours, theirs)
    if not merge.is_clean and not first_wins:
        raise Conflict(ours, theirs, merge.files)
    tree = merge.tree if merge.is_clean else _with_files_of(git, merge, ours, theirs)
    return git.commit(tree, [ours, theirs], message)


def _with_files_of(git: Git, merge: Merge, ours: str, theirs: str) -> str:
    """Write the merged tree with one side's files where they conflict; Conflict where git had to rename any for that.

    It does where a file on one side is a directory on the other.
    """
    found: dict[str, dict[str, str]] = {}
    for side in (ours, theirs):
        said = git.run("ls-tree", "-r", "-z", side, "--", *(f":(top,literal){file}" for file in merge.files))
        entries = (line.split("\t", 1) for line in said.decode(errors="surrogateescape").split("\0")[:-1])
        found[side] = {path: head for head, path in entries}
    if not set(merge.told) <= set(merge.files) or any(
        file not in found[ours] and file not in found[theirs] for file in merge.files
    ):
        raise Conflict(ours, theirs, merge.files)
    lines = [f"{found[ours].get(file, _GONE)}\t{file}" for file in merge.files]
    with TemporaryDirectory(prefix="budwood-") as scratch:
        aimed = git.aimed(index=Path(scratch) / "index")
        aimed.run("read-tree", merge.tree)
        written = "".join(f"{line}\0" for line in lines).encode(errors="surrogateescape")
        aimed.run("update-index", "-z", "--index-info", stdin=written)
        return aimed.ask("write-tree")


def merge_tree(git: Git, ours: str, theirs: str) -> Merge:
    """Merge two commits."""
    return merge_trees(git, [(ours, theirs)])[0]


def merge_trees(git: Git, pairs: Iterable[tuple[str, str]]) -> list[Merge]:
    """Merge pairs of commits, each for itself, with one program for all."""
    asked = list(pairs)
    lines = "".join(f"{ours} {theirs}\n" for ours, theirs in asked).encode()
    fields = iter(git.run(*_WORDS, stdin=lines).decode(errors="surrogateescape").split("\0")[:-1])
    merges = []
    for flag, sides in zip(fields, asked, strict=True):
        tree = next(fields)
        told = tuple(dict.fromkeys(iter(lambda: next(fields), "")))
        files = tuple(dict.fromkeys(name_before(file, sides) for file in told))
        merges.append(Merge(tree, flag == "1", files, told))
    return merges


def name_before(file: str, sides: Sequence[str]) -> str:
    """Say what a file was called that git has put aside: it adds the side that the file is from, and maybe a number."""
    suffix = "|".join(re.escape(side.replace("/", "_")) for side in sides)
    return re.sub(f"~({suffix})(_[0-9]+)?$", "", file)


def is_ancestor(git: Git, older: str, newer: str) -> bool:
    """Say whether a commit holds another in its history, or is it."""
    return older == newer or git.ask("merge-base", "--independent", older, newer) == newer
