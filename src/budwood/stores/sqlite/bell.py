"""A named pipe per run: who asks something writes a byte, and the driver's selector wakes.

The byte carries nothing and may be lost when nobody listens: what was asked is in the database. Knows pipes only.
"""

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path

from budwood.stores.base import Bell

_NOBODY = {errno.ENXIO, errno.ENOENT, errno.EPIPE}
_FULL = {errno.EAGAIN}


class PipeBell(Bell):
    """Listens on a named pipe."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(exist_ok=True)
        try:
            os.mkfifo(path, 0o600)
        except FileExistsError:
            if not stat.S_ISFIFO(path.stat().st_mode):
                raise FileExistsError(errno.EEXIST, "it is no named pipe", str(path)) from None
        # Open for writing too: with a reader alone, the pipe would be at its end, and readable, after the first ring.
        self._descriptor: int | None = os.open(path, os.O_RDWR | os.O_NONBLOCK)

    def fileno(self) -> int:
        if self._descriptor is None:
            raise ValueError("this bell is closed")
        return self._descriptor

    def drain(self) -> None:
        with suppress(BlockingIOError):
            while os.read(self.fileno(), 4096):
                pass

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def ring(path: Path) -> None:
    """Wake whoever listens; nobody may, and a full pipe will wake him anyway."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    except OSError as error:
        if error.errno in _NOBODY:
            return
        raise
    try:
        os.write(descriptor, b"!")
    except OSError as error:
        if error.errno not in _NOBODY | _FULL:
            raise
    finally:
        os.close(descriptor)
