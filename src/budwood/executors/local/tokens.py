"""The cap over all runs of a machine: a folder of locked files, one per attempt that may run.

A token is an open, locked file. It travels to the supervisor with the attempt and is held there until the attempt has
ended, whatever happens to the driver; the kernel frees it. Nobody polls: closing such a file wakes every driver that
waits (inotify), and where that does not exist a timer does. Lock files are never deleted.
"""

import ctypes
import fcntl
import os
import sys
from collections.abc import Callable
from pathlib import Path

from budwood.executors.base import Loop

_IN_CLOSE_WRITE = 0x00000008
_RECHECK_S = 0.5


class Tokens:
    """What this driver may take of the machine."""

    def __init__(self, folder: Path, limit: int, *, loop: Loop) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._limit = limit
        self._loop = loop
        self._watch_fd: int | None = None

    def take(self) -> int | None:
        """Return a locked descriptor, or None when the machine is full."""
        for number in range(self._limit):
            path = self._folder / f"{number}.lock"
            # Look first through a descriptor that cannot write: closing it wakes nobody. If every probe did, two
            # waiting drivers would wake each other for ever.
            if _lock(path, os.O_RDONLY, keep=False) is not None:
                fd = _lock(path, os.O_RDWR, keep=True)
                if fd is not None:
                    return fd
        return None

    def when_free(self, call: Callable[[], None]) -> None:
        """Call back whenever somebody on this machine gave a token back; may call too often."""
        if self._watch_fd is None:
            self._watch_fd = _watch_closes(self._folder)
            # One may have come back between the last look and the watch. Where nothing can be watched, look again
            self._loop.later(_RECHECK_S if self._watch_fd is None else 0.0, call)
        if self._watch_fd is None:
            return
        fd = self._watch_fd

        def freed() -> None:
            os.read(fd, 65536)
            call()

        self._loop.watch(fd, freed)

    def rest(self) -> None:
        """Stop watching while nobody waits."""
        if self._watch_fd is not None:
            self._loop.forget(self._watch_fd)
            os.close(self._watch_fd)
            self._watch_fd = None


def _lock(path: Path, mode: int, *, keep: bool) -> int | None:
    fd = os.open(path, mode | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        return None
    if not keep:
        os.close(fd)
    return fd


def _watch_closes(folder: Path) -> int | None:
    if sys.platform != "linux":
        return None
    libc = ctypes.CDLL(None, use_errno=True)
    fd = int(libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))
    if fd < 0:
        return None
    if libc.inotify_add_watch(fd, os.fsencode(folder), _IN_CLOSE_WRITE) < 0:
        os.close(fd)
        return None
    return fd
