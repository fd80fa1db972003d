"""A run's lock: held by a process, and ended by the kernel when that process is gone, whatever the clock says.

A lock file is never deleted: a second process could otherwise lock a new file of the same name while the first holds
the old one. Knows lock files only; the fencing number is the database's.
"""

import fcntl
import os
import time
from pathlib import Path

_TRIES = 200
_PAUSE_S = 0.001


class RunLock:
    """One descriptor with an exclusive lock; closing it gives the lock up."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor: int | None = descriptor

    def close(self) -> None:
        """Give the lock up; harmless if that was done before."""
        if self._descriptor is not None:
            # Unlock, too: a child between fork and exec still has a copy, which would keep the lock for that moment.
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)
            os.close(self._descriptor)
            self._descriptor = None


def try_lock(path: Path) -> RunLock | None:
    """Take the lock, or return None while another holder, in this process or any other, has it."""
    path.parent.mkdir(exist_ok=True)
    # Python opens with O_CLOEXEC: a child that inherited the descriptor would hold the lock after our death.
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        for _ in range(_TRIES):
            if _flock(descriptor, fcntl.LOCK_EX):
                return RunLock(descriptor)
            # A reader that looks who holds it (`is_locked`) has a shared lock for some microseconds; it is no holder.
            if not _flock(descriptor, fcntl.LOCK_SH):
                break
            fcntl.flock(descriptor, fcntl.LOCK_UN)
            time.sleep(_PAUSE_S)
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return None


def wait_lock(path: Path) -> RunLock:
    """Take the lock, waiting for whoever has it; for what is done in a moment, such as bringing a schema up to date."""
    path.parent.mkdir(exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    except BaseException:
        os.close(descriptor)
        raise
    return RunLock(descriptor)


def is_locked(path: Path) -> bool:
    """Look whether somebody holds the lock; needs no right to write."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        return not _flock(descriptor, fcntl.LOCK_SH)
    finally:
        os.close(descriptor)


def _flock(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
