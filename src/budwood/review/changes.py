"""What differs between two commits: as a list of files, and as a patch.

By git's plumbing, so that no setting of the user's and no program of theirs has a say. Knows git; must not know runs.
"""

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from msgspec import Struct

from budwood.workspaces.git import Git

Form = Literal["patch", "stat", "names"]
_FORMS: dict[Form, tuple[str, ...]] = {"patch": ("-p",), "stat": ("--stat=100",), "names": ("--name-only",)}
_PLAIN = ("diff-tree", "-r", "--no-ext-diff", "--no-textconv")
_WHAT = {"A": "added", "D": "deleted", "M": "changed", "T": "changed"}


class Change(Struct, frozen=True, kw_only=True):
    """One file that differs."""

    path: str
    what: str
    """Added, changed or deleted."""
    lines_added: int | None
    """None of what is no text."""
    lines_removed: int | None


class Entry(NamedTuple):
    """A path on both sides, as git has it; a mode of zeros is a file that is not there."""

    old_mode: str
    new_mode: str
    old: str
    new: str
    letter: str
    path: str


def entries(git: Git, older: str, newer: str) -> list[Entry]:
    """List the paths that differ; what was renamed was deleted and added."""
    fields = _fields(git, "--raw", "--no-abbrev", older, newer)
    return [
        Entry._make((*head.lstrip(":").split(" "), path)) for head, path in zip(fields[::2], fields[1::2], strict=True)
    ]


def changes(git: Git, older: str, newer: str) -> list[Change]:
    """List the files that differ, with how many lines."""
    counted = {path: (_number(added), _number(removed)) for added, removed, path in _numstat(git, older, newer)}
    return [
        Change(
            path=_shown(entry.path),
            what=_WHAT[entry.letter],
            lines_added=counted[entry.path][0],
            lines_removed=counted[entry.path][1],
        )
        for entry in entries(git, older, newer)
    ]


def write_out(
    git: Git, older: str, newer: str, *, form: Form = "patch", colour: bool = False, only: str | None = None
) -> bytes:
    """Write the difference as people read it, or as a list of names; of one file `only`, as it is in the list."""
    colours = ("--color=always",) if colour else ()
    paths = () if only is None else ("--", f":(top,literal){only}")
    return git.run(*_PLAIN, "--find-renames", *_FORMS[form], *colours, older, newer, *paths)


def patch_id(git: Git, older: str, newer: str) -> str:
    """Name a difference by what it changes, wherever that stands; empty if there is none."""
    said = git.ask("patch-id", "--stable", stdin=git.run(*_PLAIN, "-p", older, newer))
    return said.partition(" ")[0]


def patch_ids(git: Git, commits: Sequence[str]) -> set[str]:
    """Name what each of these commits changed."""
    patches = git.run(*_PLAIN, "-p", "--stdin", stdin="".join(f"{commit}\n" for commit in commits).encode())
    return {line.partition(" ")[0] for line in git.ask("patch-id", "--stable", stdin=patches).splitlines()}


def _numstat(git: Git, older: str, newer: str) -> Iterator[list[str]]:
    return (field.split("\t", 2) for field in _fields(git, "--numstat", older, newer))


def _fields(git: Git, *words: str) -> list[str]:
    return git.run(*_PLAIN, "-z", "--no-renames", *words).decode(errors="surrogateescape").split("\0")[:-1]


def _shown(path: str) -> str:
    """Write a name that is no text so that JSON can carry it."""
    return path.encode(errors="surrogateescape").decode(errors="backslashreplace")


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() else None
