"""Opens the file: for writing where that is possible, else for reading, never on a network file system.

Knows paths, pragmas and the schema's version; must not know tables.
"""

import sqlite3
from pathlib import Path

from budwood.durable import names_to_disk
from budwood.errors import StoreUnwritable, UsageError
from budwood.stores.sqlite.faults import blocks_opening, damaged, explain, unwritable
from budwood.stores.sqlite.migrate import migrate, migrations, version_of
from budwood.stores.sqlite.mounts import file_system_of, refuse_network
from budwood.stores.steps import refuse_newer

BUSY_S = 30.0
_MARK = b"SQLite format 3\0"


def connect(path: Path, *, create: bool, file_system: str | None = None) -> sqlite3.Connection:
    """Return a connection to a store of this version's schema; without `create`, nothing is made for a missing one."""
    try:
        missing = _is_missing(path)
        if missing and not create:
            raise UsageError(
                f"there is no store at {path}", hint="budwood run FILE makes one, and so does budwood init"
            )
        refuse_network(path, file_system_of(_existing(path)) if file_system is None else file_system)
        if missing:
            path.parent.mkdir(parents=True, exist_ok=True)
        else:
            _refuse_other_files(path)
        try:
            return _open_writing(path, missing=missing)
        except sqlite3.Error as error:
            if missing or not blocks_opening(error):
                raise
            return _open_reading(path, error)
    except sqlite3.Error as error:
        raise explain(error, path) from error
    except OSError as error:
        raise unwritable(path, error) from error


def _is_missing(path: Path) -> bool:
    """Say whether there is nothing yet; a store that has become empty is damaged, or its runs would all run again."""
    if path.exists() and path.stat().st_size:
        return False
    if path.exists() and _was_driven(path):
        raise damaged(path, "it is empty, and it was not always")
    return True


def _was_driven(path: Path) -> bool:
    """Look for a bell: there is one for every run that was ever driven from this store."""
    bells = [bell.name for bell in (path.parent / "bells").glob("*")]
    own = (lambda name: "." not in name) if path.name == "store.db" else (lambda name: name.startswith(f"{path.name}."))
    return any(map(own, bells))


def _refuse_other_files(path: Path) -> None:
    """Look for SQLite's mark: SQLite itself takes a very short file for an empty database and writes over it."""
    with path.open("rb") as file:
        if file.read(len(_MARK)) != _MARK:
            raise damaged(path, "it does not begin as a database does")


def _existing(path: Path) -> Path:
    return next(parent for parent in (path, *path.parents) if parent.exists())


def _raw(path: Path, options: str) -> sqlite3.Connection:
    # One thread at a time is the contract; it need not be the one that opened the store.
    return sqlite3.connect(
        f"{path.as_uri()}?{options}", uri=True, timeout=BUSY_S, isolation_level=None, check_same_thread=False
    )


def _open_writing(path: Path, *, missing: bool) -> sqlite3.Connection:
    connection = _raw(path, "mode=rwc" if missing else "mode=rw")
    try:
        connection.execute("PRAGMA synchronous = FULL")
        newest = max(migrations())
        version = version_of(connection, path)
        refuse_newer(version, str(path), newest=newest)
        if version < newest or connection.execute("PRAGMA journal_mode").fetchone() != ("wal",):
            _prepare(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    migrate(connection, path)
    for directory in (path.parent, path.parent.parent):  # a store that is lost with its directory's entry is lost too
        names_to_disk(directory)


def _open_reading(path: Path, why: sqlite3.Error) -> sqlite3.Connection:
    """Open a file that cannot be written; every write will be refused by SQLite itself."""
    journal = path.with_name(path.name + "-wal")
    whole = not journal.exists() or journal.stat().st_size == 0
    # `immutable` reads without the files beside it; that is only the whole truth when no journal waits to be merged.
    for options in ("mode=ro", *(["mode=ro&immutable=1"] if whole else [])):
        connection = _raw(path, options)
        try:
            version = version_of(connection, path)
        except sqlite3.Error as error:
            connection.close()
            if not blocks_opening(error):
                raise
            continue
        except BaseException:
            connection.close()
            raise
        if version == max(migrations()):
            return connection
        connection.close()
        refuse_newer(version, str(path), newest=max(migrations()))
        raise StoreUnwritable(
            f"{path} has an older schema and cannot be written, so it cannot be brought up to date"
        ) from why
    raise StoreUnwritable(
        f"{path} cannot be opened: {why}",
        hint=f"copy {path} and {journal.name} to a directory that you can write, and read them there with --store",
    ) from why
