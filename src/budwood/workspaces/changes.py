"""What is different in a directory from what is known of it.

An index of ours beside the directory has the size, times and inode of every file as it was laid out, and git compares
them; a file that is as old as the index itself is read. Meanwhile everything in the directory is listed. Knows git and
directories; must not know what becomes of it.
"""

import os
import re
import stat
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from pathlib import Path
from typing import NamedTuple

from budwood.workspaces.git import Git, GitFailed
from budwood.workspaces.survey import NOTHING, Known, Seen, Survey, Walk

_DIFFER = ("diff-files", "-z", "--name-only")


class Changes(NamedTuple):
    """What was found in a directory, and how it differs."""

    found: Survey
    """What is there and not known."""
    known: Sequence[bytes]
    """Every path of the index, in its order."""
    changed: list[bytes]
    """Known, there, and perhaps not as it was."""
    gone: list[bytes]


def compare(
    git: Git,
    tree: Path,
    index: Path | None,
    *,
    seen: Seen | None = None,
    skip: str | None,
    spare: re.Pattern[bytes] = NOTHING,
    take: Callable[[Survey], None] | None = None,
) -> Changes:
    """Look through a directory and compare it with an index that has files only; without one, everything is new.

    `seen` are the files of the index, if they have been listed, and the directories that had just those. `take` gets
    what was found while git is still at work; the answer then has only what was found after that.
    """
    walk = Walk(tree, skip=skip, spare=spare)
    if index is None:
        walk.beside(Seen(Known(())))
        return Changes(walk.found, (), [], [])
    aimed = git.aimed(work_tree=tree, index=index)
    with ThreadPoolExecutor(1) as beside:
        differing = beside.submit(copy_context().run, aimed.hear, *_DIFFER)
        seen = seen or Seen(_list_known(aimed))
        walk.beside(seen)
        blocked = walk.blocked
        if take is not None:
            take(walk.found)
            walk = Walk(tree, skip=skip, spare=spare)
        hidden = [path for folder in blocked for path in seen.known.below(folder)]
        differ = _differing(aimed, *differing.result(), hidden=hidden)
    lies = _Lies(os.fsencode(tree))
    changed, gone = [], []
    for path in differ:
        mode = lies.mode(path)
        if stat.S_ISREG(mode) or stat.S_ISLNK(mode):
            changed.append(path)
            continue
        gone.append(path)
        if stat.S_ISDIR(mode):
            walk.into(path)
        elif mode:
            walk.found.special.append(path)
    return Changes(walk.found, seen.known.paths, changed, gone)


def _differing(git: Git, said: bytes, errors: bytes, *, hidden: Sequence[bytes]) -> list[bytes]:
    """List what git found to differ, and what it could not look at.

    Where it may not enter a directory, or where a link lies in the place of one that leads round in a circle, git names
    the files there on standard error only, and takes them for what they were. Rights have been given back meanwhile;
    what is hidden behind something else is gone.
    """
    if errors:
        said, errors = git.hear(*_DIFFER)
    if errors and not hidden:
        raise GitFailed(_DIFFER, errors.decode(errors="replace"))
    return list(dict.fromkeys((*said.split(b"\0")[:-1], *hidden)))


def _list_known(git: Git) -> Known:
    """List the files of the index that git is aimed at."""
    return Known(git.run("ls-files", "-z").split(b"\0")[:-1])


class Bases:
    """The files of the base that was asked for last, and where they lay: attempts often begin with the same one."""

    def __init__(self) -> None:
        self._last: tuple[str, Known] | None = None
        self._seen: dict[Path, Seen] = {}

    def seen(self, folder: Path, base: str, git: Git, *, now_ns: int) -> Seen:
        """Tell what is known of a place with the files of a base; git is aimed at an index that has just those."""
        last = self._last
        if last is None or last[0] != base:
            self._last = last = (base, _list_known(git))
        seen = self._seen.get(folder)
        if seen is None or seen.known is not last[1]:
            self._seen[folder] = seen = Seen(last[1])
        seen.begin(now_ns)
        return seen


class _Lies:
    """Tells what lies at paths of a directory, not at what a link on the way leads to."""

    def __init__(self, base: bytes) -> None:
        self._base = base + b"/"
        self._folders = {b"": True}

    def mode(self, path: bytes) -> int:
        """Return the mode of a file; 0 if there is none."""
        if not self._has_folder(path.rpartition(b"/")[0]):
            return 0
        try:
            return os.lstat(self._base + path).st_mode
        except FileNotFoundError:
            return 0

    def _has_folder(self, path: bytes) -> bool:
        if path not in self._folders:
            self._folders[path] = stat.S_ISDIR(self.mode(path))
        return self._folders[path]


def has_attributes(paths: Iterable[bytes]) -> bool:
    """Say whether files say how others are converted."""
    return any(path.endswith(b".gitattributes") and path.rpartition(b"/")[2] == b".gitattributes" for path in paths)
