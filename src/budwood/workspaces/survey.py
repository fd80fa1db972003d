"""Everything that lies in a directory, by name: what git is asked to keep, and what it cannot.

Git's own walk passes over every `.git`, whole or broken, and over what is no file; so this one is made instead. Knows
directories; must not know git, or read a file.
"""

import os
import re
import stat
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from budwood.workspaces.escape import is_refused
from budwood.workspaces.patterns import matcher

NOTHING = matcher((), key="")


@dataclass(slots=True)
class Survey:
    """Paths below a directory, relative to it."""

    files: list[bytes] = field(default_factory=list)
    """Files and symbolic links that git can name."""
    unnameable: list[bytes] = field(default_factory=list)
    """Files and links below or with a name that git refuses, such as those of a repository inside."""
    special: list[bytes] = field(default_factory=list)
    """Pipes, sockets and devices: they have no bytes to keep."""
    folders: list[bytes] = field(default_factory=list)
    """Directories, each after the one that it is in."""
    spared: list[bytes] = field(default_factory=list)
    """What was not looked into."""


def look_through(root: Path, *, skip: str | None, spare: re.Pattern[bytes] = NOTHING) -> Survey:
    """List what is there, but for one name at the top; directories that may not be read are made readable first."""
    found = Survey()
    waiting: list[tuple[bytes, bool]] = [(b"", True)]
    base, passed = os.fsencode(root), None if skip is None else os.fsencode(skip)
    spares = spare.fullmatch if spare is not NOTHING else None
    while waiting:
        folder, nameable = waiting.pop()
        prefix = folder + b"/" if folder else b""
        for entry in _entries(base + b"/" + folder):
            name = entry.name
            if not folder and name == passed:
                continue
            path = prefix + name
            if spares is not None and spares(path):
                found.spared.append(path)
                continue
            fits = nameable and not (name.startswith(b".") and is_refused(os.fsdecode(name)))
            if entry.is_dir(follow_symlinks=False):
                found.folders.append(path)
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


def make_readable(paths: Iterable[bytes]) -> None:
    """Give ourselves back the right to read files."""
    for path in paths:
        if not os.path.islink(path) and not os.access(path, os.R_OK):
            with suppress(FileNotFoundError):
                os.chmod(path, stat.S_IRUSR | stat.S_IWUSR)
