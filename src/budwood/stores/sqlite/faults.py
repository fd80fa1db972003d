"""What SQLite and the operating system say, in budwood's words.

Knows error codes; must not know tables.
"""

import sqlite3
from pathlib import Path

from budwood.errors import StoreDamaged, StoreError, StoreUnwritable

_UNWRITABLE = {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH}
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT}
_DAMAGED_READS = {sqlite3.SQLITE_IOERR_READ, sqlite3.SQLITE_IOERR_SHORT_READ, sqlite3.SQLITE_IOERR_CORRUPTFS}


def code_of(error: sqlite3.Error) -> int:
    """Return SQLite's extended result code; 0 where the error is Python's own."""
    return int(getattr(error, "sqlite_errorcode", 0) or 0)


def blocks_opening(error: sqlite3.Error) -> bool:
    """Tell whether opening failed for want of rights, so that opening for reading alone may work."""
    return code_of(error) & 0xFF in _UNWRITABLE


def explain(error: sqlite3.Error, path: Path, *, run: str | None = None) -> StoreError:
    """Make the error that a person can act on."""
    code = code_of(error)
    kind = code & 0xFF
    if kind in _DAMAGED or code in _DAMAGED_READS:
        return damaged(path, str(error), run=run)
    if kind in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
        what = "the disk is full" if kind == sqlite3.SQLITE_FULL else f"the disk refuses ({error})"
        return StoreUnwritable(
            f"{path} cannot be written: {what}; nothing of this was written, what was there is safe",
            hint=f"make room on the disk of {path.parent}, then resume",
        )
    if kind in _UNWRITABLE:
        return StoreUnwritable(
            f"{path} cannot be written: {error}; reading still works",
            hint=f"check who owns {path.parent} and whether its disk is mounted read-only",
        )
    if kind in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StoreError(
            f"{path} stayed locked by another process; nothing was written",
            hint=f"see who has it open: fuser -v {path}",
        )
    return StoreError(f"{path}: {error}; nothing was written")


def damaged(path: Path, what: str, *, run: str | None = None) -> StoreDamaged:
    """Name the file and the run that was being read; the file is kept."""
    reading = f" while reading run {run}" if run else ""
    return StoreDamaged(
        f"{path} is damaged, or is no budwood store: {what}{reading}; the file is left as it is",
        hint=f"copy {path} and what lies beside it, then try budwood store export to save the other runs",
    )


def unwritable(path: Path, error: OSError) -> StoreUnwritable:
    """Say which file the operating system refused."""
    return StoreUnwritable(
        f"{error.filename or path} cannot be used: {error.strerror}",
        hint=f"check who owns {path.parent}, whether it is mounted read-only, and whether its disk is full",
    )
