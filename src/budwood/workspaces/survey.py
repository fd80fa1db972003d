"""What lies in a directory beside the files that are known, by name: what git is asked to keep, and what it cannot.

Git's own walk passes over every `.git`, whole or broken, and over what is no file; so this one is made instead. Where a
directory has just the names that are expected, no more is asked of it: whether those are as they were, git can tell.
Knows directories; must not know git, or read a file.
"""

import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from budwood.workspaces.escape import is_refused
from budwood.workspaces.patterns import matcher

NOTHING = matcher((), key="")
_SECOND_NS = 1_000_000_000
_LOOK = stat.S_IRUSR | stat.S_IXUSR
_TICK_NS = 20_000_000
"""More than the longest time in which two changes can get the same time from a kernel."""


@dataclass(slots=True)
class Survey:
    """Paths below a directory, relative to it, that are not known."""

    files: list[bytes] = field(default_factory=list)
    """Files and symbolic links that git can name."""
    unnameable: list[bytes] = field(default_factory=list)
    """Files and links below or with a name that git refuses, such as those of a repository inside."""
    special: list[bytes] = field(default_factory=list)
    """Pipes, sockets and devices: they have no bytes to keep."""
    folders: list[bytes] = field(default_factory=list)
    """Directories, each after the one that it is in."""
    spared: list[bytes] = field(default_factory=list)
    """What was not looked into, whether something in it is known or not."""


class Known:
    """Files that are expected in a directory."""

    def __init__(self, paths: Sequence[bytes]) -> None:
        self.paths = paths
        self.folders: dict[bytes, tuple[set[bytes], list[bytes]]] = {b"": (set(), [])}
        """By directory: all names in it, and those that are directories, by their paths."""
        for path in paths:
            folder, _, name = path.rpartition(b"/")
            if folder not in self.folders:
                self._add_folder(folder)
            self.folders[folder][0].add(name)

    def _add_folder(self, folder: bytes) -> None:
        """Make a directory known, to the one above it as well, and so on to the first that is known."""
        is_known = False
        while not is_known:
            self.folders.setdefault(folder, (set(), []))
            above, _, name = folder.rpartition(b"/")
            is_known = above in self.folders
            names, folders = self.folders.setdefault(above, (set(), []))
            names.add(name)
            folders.append(folder)
            folder = above

    def below(self, folder: bytes) -> Iterator[bytes]:
        """List the files that are expected in a directory, and in those that are in it."""
        waiting = [folder]
        while waiting:
            folder = waiting.pop()
            names, folders = self.folders[folder]
            waiting += folders
            paths = (folder + b"/" + name for name in names)
            yield from (path for path in paths if path not in self.folders)


class Seen:
    """Files that are expected, and directories as they were when they had just those: they need not be listed again.

    As git's untracked cache does it: whatever comes, goes or is renamed in a directory changes the time of its inode,
    which nobody can set. Held in memory only, where nobody else writes.
    """

    def __init__(self, known: Known) -> None:
        self.known = known
        self._folders: dict[bytes, tuple[int, int, int]] = {}
        self._settled_ns = 0

    def begin(self, now_ns: int) -> None:
        """Say what time it is for the file system; what changed just now may change again within the same tick."""
        self._settled_ns = now_ns - _TICK_NS

    def has(self, folder: bytes, status: os.stat_result) -> bool:
        """Say whether a directory is as it was."""
        return self._folders.get(folder) == (status.st_dev, status.st_ino, status.st_ctime_ns)

    def note(self, folder: bytes, status: os.stat_result) -> None:
        """Write down how a directory was before it was listed."""
        changed_ns = status.st_ctime_ns
        if changed_ns % _SECOND_NS == 0:  # of a file system that knows only seconds, perhaps even ones
            changed_ns += 2 * _SECOND_NS
        if changed_ns < self._settled_ns:
            self._folders[folder] = (status.st_dev, status.st_ino, status.st_ctime_ns)


class Walk:
    """Looks through one directory, but for one name at the top; what may not be read is made readable first."""

    def __init__(self, root: Path, *, skip: str | None, spare: re.Pattern[bytes] = NOTHING) -> None:
        self.found = Survey()
        self.blocked: list[bytes] = []
        """Directories that are expected, and in whose place something else lies."""
        self._base = os.fsencode(root) + b"/"
        self._skip = None if skip is None else os.fsencode(skip)
        self._spares = None if spare is NOTHING else spare.fullmatch

    def beside(self, seen: Seen) -> None:
        """Find everything that is not among known files, and is in no directory that lies in the place of one.

        Known directories can be gone through afterwards, whatever their rights were.
        """
        give_rights(self._base, os.lstat(self._base))
        waiting: list[tuple[bytes, os.stat_result | None]] = [(b"", None)]
        while waiting:
            folder, status = waiting.pop()
            names, folders = seen.known.folders[folder]
            if status is None or not seen.has(folder, status):
                there = _names(self._base + folder)
                strange = [name for name in there if name not in names and (folder or name != self._skip)]
                for name in strange:
                    self._sort_in(folder + b"/" + name if folder else name)
                if status is not None and not strange and len(there) == len(names):
                    seen.note(folder, status)
            for below in folders:
                status = self._folder(below)
                if status is not None and not self._is_spared(below):
                    give_rights(self._base + below, status)
                    waiting.append((below, status))

    def into(self, folder: bytes, *, nameable: bool = True) -> None:
        """Find everything in a directory in which nothing is known, and the directory itself."""
        waiting = [(folder, nameable)]
        while waiting:
            folder, nameable = waiting.pop()
            self.found.folders.append(folder)
            for entry in _entries(self._base + folder):
                path = folder + b"/" + entry.name
                if self._is_spared(path):
                    continue
                fits = nameable and not _is_odd(entry.name)
                if entry.is_dir(follow_symlinks=False):
                    waiting.append((path, fits))
                elif entry.is_file(follow_symlinks=False) or entry.is_symlink():
                    (self.found.files if fits else self.found.unnameable).append(path)
                else:
                    self.found.special.append(path)

    def _sort_in(self, path: bytes) -> None:
        if self._is_spared(path):
            return
        mode = os.lstat(self._base + path).st_mode
        is_odd = _is_odd(path.rpartition(b"/")[2])
        if stat.S_ISDIR(mode):
            self.into(path, nameable=not is_odd)
        elif stat.S_ISREG(mode) or stat.S_ISLNK(mode):
            (self.found.unnameable if is_odd else self.found.files).append(path)
        else:
            self.found.special.append(path)

    def _folder(self, path: bytes) -> os.stat_result | None:
        """Look at a directory where one is expected; None if there is none, and what else is there was found."""
        try:
            status = os.lstat(self._base + path)
        except FileNotFoundError:
            return None
        if stat.S_ISDIR(status.st_mode):
            return status
        self.blocked.append(path)
        self._sort_in(path)
        return None

    def _is_spared(self, path: bytes) -> bool:
        if self._spares is None or not self._spares(path):
            return False
        self.found.spared.append(path)
        return True


def look_through(
    root: Path, *, skip: str | None, spare: re.Pattern[bytes] = NOTHING, known: Sequence[bytes] = ()
) -> Survey:
    """List what is there beside what is known."""
    walk = Walk(root, skip=skip, spare=spare)
    walk.beside(Seen(Known(known)))
    return walk.found


def _is_odd(name: bytes) -> bool:
    return name.startswith(b".") and is_refused(os.fsdecode(name))


def _names(folder: bytes) -> list[bytes]:
    try:
        return os.listdir(folder)
    except PermissionError:  # whoever ran here is us: it locked itself out
        os.chmod(folder, stat.S_IRWXU)
        return os.listdir(folder)


def _entries(folder: bytes) -> list[os.DirEntry[bytes]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except PermissionError:
        os.chmod(folder, stat.S_IRWXU)
        with os.scandir(folder) as entries:
            return list(entries)


def give_rights(folder: bytes, status: os.stat_result) -> None:
    """Give ourselves the rights back to list a directory and to look at what is in it."""
    if status.st_mode & _LOOK != _LOOK:
        with suppress(PermissionError):  # it is another's
            os.chmod(folder, stat.S_IMODE(status.st_mode) | _LOOK)


def make_readable(paths: Iterable[bytes]) -> None:
    """Give ourselves back the right to read files."""
    for path in paths:
        if not os.path.islink(path) and not os.access(path, os.R_OK):
            with suppress(FileNotFoundError):
                os.chmod(path, stat.S_IRUSR | stat.S_IWUSR)
