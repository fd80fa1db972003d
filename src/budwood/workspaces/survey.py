"""Everything that lies in a directory, by name: what git is asked to keep, and what it cannot.

Git's own walk passes over every `.git`, whole or broken, and over what is no file; so this one is made beside it. Knows
directories; must not know git, or read a file.
"""

import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from budwood.workspaces.escape import is_refused


@dataclass(slots=True)
class Survey:
    """Paths below a directory, relative to it."""

    files: list[bytes] = field(default_factory=list)
    """Files and symbolic links that git can name."""
    unnameable: list[bytes] = field(default_factory=list)
    """Files and links below or with a name that git refuses, such as those of a repository inside."""
    special: list[bytes] = field(default_factory=list)
    """Pipes, sockets and devices: they have no bytes to keep."""


def look_through(root: Path, *, skip: str | None) -> Survey:
    """List what is there, but for one name at the top; directories that may not be read are made readable first."""
    found = Survey()
    waiting: list[tuple[bytes, bool]] = [(b"", True)]
    base, passed = os.fsencode(root), None if skip is None else os.fsencode(skip)
    while waiting:
        folder, nameable = waiting.pop()
        for entry in _entries(os.path.join(base, folder)):
            if not folder and entry.name == passed:
                continue
            path = folder + b"/" + entry.name if folder else entry.name
            fits = nameable and not (entry.name[:4].lower() == b".git" and is_refused(os.fsdecode(entry.name)))
            if entry.is_dir(follow_symlinks=False):
                waiting.append((path, fits))
            elif entry.is_file(follow_symlinks=False) or entry.is_symlink():
                (found.files if fits else found.unnameable).append(path)
            else:
                found.special.append(path)
    return found


def _entries(folder: bytes) -> list[os.DirEntry[bytes]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except PermissionError:  # whoever ran here is us: it locked itself out
        os.chmod(folder, stat.S_IRWXU)
        with os.scandir(folder) as entries:
            return list(entries)


def make_readable(root: Path, paths: Iterable[bytes]) -> None:
    """Give ourselves back the right to read files."""
    base = os.fsencode(root)
    for path in paths:
        whole = os.path.join(base, path)
        if not os.path.islink(whole) and not os.access(whole, os.R_OK):
            with suppress(FileNotFoundError):
                os.chmod(whole, stat.S_IRUSR | stat.S_IWUSR)
