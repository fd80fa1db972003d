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


def clear(root: Path, found: Survey, known: Iterable[bytes]) -> None:
    """Remove what was found and is not known; directories go that hold nothing known and nothing spared.

    Where a directory lies in the place of a known file, whoever writes the file has to take it away.
    """
    base = os.fsencode(root)
    wanted = set(known)
    for path in (*found.files, *found.unnameable, *found.special):
        if path not in wanted:
            _with_right(os.unlink, base + b"/" + path)
    needed = folders_of((*wanted, *found.spared))
    for folder in reversed(found.folders):
        if folder not in needed and folder not in wanted:
            _with_right(os.rmdir, base + b"/" + folder)


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
    """Remove a directory and all that is in it; harmless if there is none."""
    if path.exists():
        shutil.rmtree(path, onerror=_remove_by_force)


def _remove_by_force(
    remove: Callable[..., object], path: str, info: tuple[type[BaseException], BaseException, TracebackType]
) -> None:
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
