"""One connection, its transactions, and the numbers that stand for runs in its tables.

Knows how SQLite fails and what that means to a person; must not know leases, events or rows.
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from budwood.errors import NoSuchId, StoreUnwritable
from budwood.stores.sqlite.connect import connect
from budwood.stores.sqlite.faults import damaged, explain


class Database:
    """The file, open."""

    def __init__(self, path: Path, *, create: bool, file_system: str | None = None) -> None:
        self.path = path
        self.connection = connect(path, create=create, file_system=file_system)
        self._numbers: dict[str, int] = {}
        self._identity = _identity(path)

    def refuse_vanished(self) -> None:
        """Refuse to write into a file that nobody will find again: it was removed, or another lies in its place."""
        if _identity(self.path) != self._identity:
            raise StoreUnwritable(
                f"{self.path} was removed while it was in use; nothing more is recorded",
                hint="bring it back from a copy before the next run, or everything is run again",
            )

    @contextmanager
    def reading(self, run: str | None = None) -> Iterator[sqlite3.Connection]:
        """Turn SQLite's errors into ours, naming the run that is read."""
        try:
            yield self.connection
        except sqlite3.Error as error:
            raise explain(error, self.path, run=run) from error
        except msgspec.MsgspecError as error:
            raise damaged(self.path, str(error), run=run) from error

    @contextmanager
    def writing(self, run: str | None = None) -> Iterator[sqlite3.Connection]:
        """Do all of it or nothing, as the only writer."""
        connection = self.connection
        try:
            # IMMEDIATE: one that begins by reading, and then finds another writer, fails at once instead of waiting.
            connection.execute("BEGIN IMMEDIATE")
            yield connection
            connection.execute("COMMIT")
        except BaseException as error:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            if isinstance(error, sqlite3.Error):
                raise explain(error, self.path, run=run) from error
            raise

    def number_of(self, run: str) -> int:
        """Return the number that stands for the run, inside `reading` or `writing`."""
        number = self._numbers.get(run)
        if number is None:
            found = self.connection.execute("SELECT number FROM run WHERE id = ?", (run,)).fetchone()
            if found is None:
                raise NoSuchId(f"no run {run} in {self.path}")
            number = self._numbers[run] = int(found[0])
        return number


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino
