"""Makes room in the write-ahead log before it is needed.

Syncing a file that grew costs about twice what syncing one that was overwritten costs, because its new size is synced
too; and a driver syncs after every turn. SQLite reads the log up to the first frame that it did not write itself, so
zeros behind the end mean nothing to it. Knows the file only; whoever calls holds the write lock, or another writer's
frame could be overwritten.
"""

import os
from contextlib import suppress
from pathlib import Path

ROOM_BYTES = 1000 * (4096 + 24) + 32
"""What the log grows to before SQLite begins it anew: a thousand pages, their headers and its own."""


_PLENTY_BYTES = 64 * 1024 * 1024
"""On a disk with less left, room is worth more than time."""


def make_room(database: Path) -> None:
    """Extend the log to its usual size with zeros; a disk that has no room for it is left as it was."""
    path = database.with_name(database.name + "-wal")
    with suppress(FileNotFoundError), path.open("r+b") as log:
        before = log.seek(0, os.SEEK_END)
        disk = os.fstatvfs(log.fileno())
        if before >= ROOM_BYTES or disk.f_bavail * disk.f_frsize < _PLENTY_BYTES:
            return
        try:
            log.write(bytes(ROOM_BYTES - before))
            log.flush()
            os.fdatasync(log.fileno())
        except OSError:
            log.truncate(before)
