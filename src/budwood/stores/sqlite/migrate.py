"""Brings a database to this version's schema, by the numbered files in `migrations/`.

Knows the schema's number; must not know what the tables mean.
"""

import sqlite3
from pathlib import Path

from budwood.errors import UsageError
from budwood.stores.sqlite.lease import wait_lock
from budwood.stores.steps import refuse_newer, steps_in

_FOLDER = Path(__file__).parent / "migrations"


def migrations(folder: Path = _FOLDER) -> dict[int, Path]:
    """List the files by the version that each leads to."""
    return steps_in(folder)


def version_of(connection: sqlite3.Connection, path: Path) -> int:
    """Return the version of the schema in the file; 0 for an empty one."""
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if "meta" in tables:
        row = connection.execute("SELECT value FROM meta WHERE name = 'schema'").fetchone()
        if row is not None:
            return int(row[0])
    if tables:
        raise UsageError(
            f"{path} is a database of another program, not a budwood store", hint="choose another --store PATH"
        )
    return 0


def migrate(connection: sqlite3.Connection, path: Path, *, folder: Path = _FOLDER) -> None:
    """Switch to WAL and run what is missing, each file in one transaction; one process does it, the others wait."""
    steps = migrations(folder)
    lock = wait_lock(path.parent / "locks" / "store.lock")
    try:
        version = version_of(connection, path)
        refuse_newer(version, str(path), newest=max(steps))
        connection.execute("PRAGMA journal_mode = WAL")
        for number in range(version + 1, max(steps) + 1):
            _step(connection, steps[number].read_text(encoding="utf-8"), number)
    finally:
        lock.close()


def _step(connection: sqlite3.Connection, script: str, number: int) -> None:
    try:
        connection.executescript(
            "BEGIN IMMEDIATE;\n"
            "CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;\n"
            f"{script}\n"
            f"INSERT INTO meta VALUES ('schema', '{number}') ON CONFLICT DO UPDATE SET value = excluded.value;\n"
            "COMMIT;"
        )
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
