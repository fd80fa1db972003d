"""What an attempt left, in the words of the run: names of commits, and how much it changed.

Knows git; must not judge.
"""

from collections.abc import Sequence
from typing import NamedTuple

from budwood._core.model import Left
from budwood.workspaces import Kept, Repository

_NAMED = 20


class Change(NamedTuple):
    """What differs between two trees."""

    files: int
    named: tuple[str, ...]
    """The first of those files, by name."""
    added: int
    removed: int


def describe(repository: Repository, kept: Kept, *, ref: str, outside: Sequence[str], start: str | None) -> Left:
    """Describe what was kept; `start` is the commit that its work began with, if that is not where it was laid out."""
    base = start or kept.base
    change = changed(repository, base, kept.candidate)
    return Left(
        base=base,
        tree=kept.candidate,
        candidate=kept.made,
        commit=kept.commit,
        ref=ref,
        files=change.files,
        named=change.named,
        lines_added=change.added,
        lines_removed=change.removed,
        not_kept=(*(each.path for each in kept.left_out), *kept.adrift, *kept.special)[:_NAMED],
        outside=tuple(outside[:_NAMED]),
        inside=kept.inside[:_NAMED],
    )


def changed(repository: Repository, base: str, tree: str) -> Change:
    """Count what differs between two trees."""
    named: list[str] = []
    files = added = removed = 0
    for entry in repository.git.run("diff-tree", "-r", "-z", "--numstat", "--no-renames", base, tree).split(b"\0"):
        counts = entry.split(b"\t", 2)
        if len(counts) == 3:
            files += 1
            if files <= _NAMED:
                named.append(counts[2].decode(errors="replace"))
            added += int(counts[0]) if counts[0].isdigit() else 0  # of what is no text git says "-"
            removed += int(counts[1]) if counts[1].isdigit() else 0
    return Change(files, tuple(named), added, removed)
