"""What is different in a directory from what is known of it.

An index of ours beside the directory has the size, times and inode of every file as it was laid out, and git compares
them; a file that is as old as the index itself is read. Meanwhile everything in the directory is listed. Knows git and
directories; must not know what becomes of it.
"""

import os
import re
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from budwood.workspaces.git import Git
from budwood.workspaces.survey import NOTHING, Survey, look_through


class Changes(NamedTuple):
    """What was found in a directory, and how it differs."""

    found: Survey
    known: Sequence[bytes]
    """Every path of the index, in its order."""
    changed: Sequence[bytes]
    """Known, there, and perhaps not as it was."""
    gone: Sequence[bytes]
    new: Sequence[bytes]


def compare(
    git: Git, tree: Path, index: Path | None, *, skip: str | None, spare: re.Pattern[bytes] = NOTHING
) -> Changes:
    """Look through a directory and compare it with an index; without one, everything is new."""
    if index is None:
        found = look_through(tree, skip=skip, spare=spare)
        return Changes(found, (), (), (), found.files)
    aimed = git.aimed(work_tree=tree, index=index)
    with ThreadPoolExecutor(2) as beside:
        # Of a repository inside, no more than where it stands is asked: looking further would run git by its settings.
        differing = beside.submit(aimed.run, "diff-files", "-z", "--name-only", "--ignore-submodules=dirty")
        listing = beside.submit(aimed.run, "ls-files", "-z")
        found = look_through(tree, skip=skip, spare=spare)
        known, differ = (each.result().split(b"\0")[:-1] for each in (listing, differing))
    _add_known_spared(found, known, os.fsencode(tree))
    there = set(found.files)
    return Changes(
        found,
        known,
        changed=[path for path in differ if path in there],
        gone=[path for path in differ if path not in there],
        new=list(there.difference(known)),
    )


def has_attributes(paths: Iterable[bytes]) -> bool:
    """Say whether files say how others are converted."""
    return any(path.endswith(b".gitattributes") and path.rpartition(b"/")[2] == b".gitattributes" for path in paths)


def _add_known_spared(found: Survey, known: Sequence[bytes], base: bytes) -> None:
    """Add what the repository itself has below a spared directory: that is no less a file than others."""
    if found.spared:
        names, below = set(found.spared), tuple(path + b"/" for path in found.spared)
        mine = (path for path in known if path.startswith(below) or path in names)
        found.files += [path for path in mine if os.path.lexists(base + b"/" + path)]
