"""Room in the write-ahead log: made once, never over somebody's frames, never on a disk that has little left."""

import sqlite3
from pathlib import Path

from budwood.stores.sqlite import SqliteStore
from budwood.stores.sqlite.wal import ROOM_BYTES, make_room


def wal_of(path: Path) -> Path:
    """Return the log beside a database."""
    return path.with_name(path.name + "-wal")


def test_a_driver_has_room_in_the_log(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with SqliteStore(path) as store:
        store.acquire(store.claim("r1", name="r", source="", fresh=True).run, "me")
        assert wal_of(path).stat().st_size >= ROOM_BYTES


def test_what_was_written_before_and_after_is_there_when_the_log_is_read_again(tmp_path: Path) -> None:
    path, copy = tmp_path / "store.db", tmp_path / "copy.db"
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("PRAGMA journal_mode = WAL")
    writer.execute("CREATE TABLE t (a)")
    writer.execute("INSERT INTO t VALUES (1)")
    writer.execute("BEGIN IMMEDIATE")
    make_room(path)
    writer.execute("INSERT INTO t VALUES (2)")
    writer.execute("COMMIT")
    writer.execute("INSERT INTO t VALUES (3)")
    # As after a power cut: the files as they are, and nobody who closed them.
    copy.write_bytes(path.read_bytes())
    wal_of(copy).write_bytes(wal_of(path).read_bytes())
    reader = sqlite3.connect(copy)
    assert reader.execute("SELECT a FROM t ORDER BY a").fetchall() == [(1,), (2,), (3,)]
    assert reader.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    reader.close()
    writer.close()


def test_a_log_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    make_room(tmp_path / "store.db")
    assert not wal_of(tmp_path / "store.db").exists()
