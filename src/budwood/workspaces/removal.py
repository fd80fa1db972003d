"""Taking away what lies in directories of a pool, also where somebody took the right to do that away.

Package managers make directories that nobody may write to; whoever ran here is us, so that right can be given back.
Knows directories; must not know git, or decide what may go.
"""

import os
import shutil
import stat
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType

from budwood.workspaces.survey import Survey


def clear(root: Path, found: Survey, *, take: Callable[[bytes], None]) -> None:
    """Remove what was found, but for what is spared and the directories that it is in; `take` takes whole ones away."""
    base = os.fsencode(root) + b"/"
    needed = folders_of(found.spared)
    going: set[bytes] = set()
    for folder in found.folders:  # each comes after the one that it is in
        if folder.rpartition(b"/")[0] in going:
            going.add(folder)
        elif folder not in needed:
            going.add(folder)
            take(base + folder)
    for path in (*found.files, *found.unnameable, *found.special):
        if path.rpartition(b"/")[0] not in going:
            _with_right(os.unlink, base + path)


def folders_of(paths: Iterable[bytes]) -> set[bytes]:
    """Return the directories that paths lie in, to the top."""
    needed: set[bytes] = set()
    for path in paths:
        folder = path.rpartition(b"/")[0]
        while folder and folder not in needed:
            needed.add(folder)
            folder = folder.rpartition(b"/")[0]
    return needed


def remove_tree(path: Path) -> None:
    """Remove a directory and all that is in it; harmless if there is none, or another removes it as well."""
    if path.exists():
        shutil.rmtree(path, onerror=_remove_by_force)


def _remove_by_force(
    remove: Callable[..., object], path: str, info: tuple[type[BaseException], BaseException, TracebackType]
) -> None:
    if isinstance(info[1], FileNotFoundError):
        return
    if not isinstance(info[1], PermissionError):
        raise info[1]
    os.chmod(os.path.dirname(path), stat.S_IRWXU)
    if os.path.isdir(path) and not os.path.islink(path):
        os.chmod(path, stat.S_IRWXU)
        remove_tree(Path(path))
    else:
        remove(path)


def _with_right(remove: Callable[[bytes], None], path: bytes) -> None:
    try:
        remove(path)
    except PermissionError:
        os.chmod(os.path.dirname(path), stat.S_IRWXU)
        remove(path)
