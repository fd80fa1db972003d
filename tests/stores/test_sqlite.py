"""The SQLite store against the contract, and what is its own: tables, views, migrations, places."""

import json
import os
import shutil
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest
from tests.stores.ageing import WITHOUT_SCORES

from budwood.errors import UsageError
from budwood.stores import open_store
from budwood.stores.base import Lease, LogEntry, Store
from budwood.stores.sqlite import SqliteStore
from budwood.stores.sqlite.migrate import migrate, migrations, version_of
from budwood.testing import samples
from budwood.testing.store_world import RUN
from budwood.testing.stores import StoreConformance, World


class Directory(World):
    def __init__(self, path: Path) -> None:
        self._file = path / ".budwood" / "store.db"
        self._stores: list[SqliteStore] = []

    def open(self) -> Store:
        store = SqliteStore(self._file)
        self._stores.append(store)
        return store

    def kill_holder(self, lease: Lease) -> None:
        # What the kernel does at a process's death: the descriptor is gone, and nobody has been told.
        for store in self._stores:
            if lease in store._locks:
                store._locks[lease].close()


class TestSqliteStore(StoreConformance):
    @pytest.fixture
    def world(self, tmp_path: Path) -> World:
        return Directory(tmp_path)


def sql(path: Path, question: str) -> list[tuple[object, ...]]:
    """Ask as somebody with the sqlite3 program would."""
    connection = sqlite3.connect(path)
    try:
        return connection.execute(question).fetchall()
    finally:
        connection.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store with a run of text and integer ids, one attempt failed."""
    path = tmp_path / "store.db"
    with SqliteStore(path) as store:
        store.claim(RUN, name="night", source="/plan.toml", fresh=False)
        lease = store.acquire(RUN, "me")
        added = samples.tasks_added(RUN, [7, "build"], edges=[(1, 0)])
        failed = samples.attempt_row(1, error=samples.FAILED, begun_at_ms=1_700_000_000_999)
        rows = msgspec.structs.replace(added.rows, attempts=(failed,))
        store.append(lease, msgspec.structs.replace(added, rows=rows))
    return path


def test_views_show_ids_and_readable_times(path: Path) -> None:
    times = "queued_at, started_at, finished_at"
    assert sql(path, f"SELECT run, task, number, state, {times}, error_type, error_message FROM attempts") == [
        (
            *(RUN, "build", 1, "failed"),
            *("2023-11-14T22:13:20.999Z", "2023-11-14T22:13:21.000Z", "2023-11-14T22:13:21.002Z"),
            *("exit", "exit code 1"),
        )
    ]
    assert sql(path, "SELECT task, typeof(task), state FROM tasks ORDER BY number") == [
        (7, "integer", "ready"),
        ("build", "text", "ready"),
    ]
    assert sql(path, "SELECT task, needs FROM dependencies") == [("build", 7)]
    assert sql(path, "SELECT id, name, state, moved_to FROM runs") == [(RUN, "night", "active", None)]
    assert sql(path, "SELECT kind, json_extract(body, '$.tasks[1].id') FROM events") == [("tasks_added", "build")]


def test_an_attempts_error_is_json_with_every_field(path: Path) -> None:
    [(error,)] = sql(path, "SELECT error FROM attempts")
    assert isinstance(error, str)
    assert json.loads(error) == {
        "type": "exit",
        "message": "exit code 1",
        "attempt": 1,
        "max_retries": 2,
        "will_retry": True,
        "timed_out": False,
    }


@pytest.mark.parametrize("at_ms", [1, 1_700_000_000_000, 1_700_000_000_001, 1_763_349_197_389, 4_102_444_799_999])
def test_times_in_views_are_exact_to_the_millisecond(path: Path, at_ms: int) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE attempt SET queued_at_ms = ?", (at_ms,))
    shown = datetime.fromtimestamp(at_ms // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S") + f".{at_ms % 1000:03}Z"
    assert sql(path, "SELECT queued_at FROM attempts") == [(shown,)]


def test_a_store_is_durable_and_open_to_others(path: Path) -> None:
    with SqliteStore(path) as store:
        connection = store._database.connection
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)


def test_a_copy_without_wal_is_switched_back(path: Path, tmp_path: Path) -> None:
    sql(path, f"VACUUM INTO '{tmp_path / 'copy.db'}'")
    assert sql(tmp_path / "copy.db", "PRAGMA journal_mode") == [("delete",)]
    with SqliteStore(tmp_path / "copy.db") as store:
        assert len(store.tasks(RUN)) == 2
    assert sql(tmp_path / "copy.db", "PRAGMA journal_mode") == [("wal",)]


def test_migrations_are_numbered_without_gaps() -> None:
    assert list(migrations()) == list(range(1, len(migrations()) + 1))


def test_an_older_schema_is_brought_up_to_date_and_a_broken_step_leaves_the_last_good_one(
    path: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "steps"
    shutil.copytree(migrations()[1].parent, folder)
    number = len(migrations()) + 1
    (folder / f"{number:04}_colour.sql").write_text("ALTER TABLE run ADD COLUMN colour TEXT;")
    (folder / f"{number + 1:04}_broken.sql").write_text("CREATE TABLE half (a TEXT); SELECT nonsense;")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        with pytest.raises(sqlite3.OperationalError):
            migrate(connection, path, folder=folder)
        assert version_of(connection, path) == number
        assert connection.execute("SELECT colour FROM run").fetchall() == [(None,)]
        assert connection.execute("SELECT name FROM sqlite_master WHERE name = 'half'").fetchall() == []
        (folder / f"{number + 1:04}_broken.sql").write_text("CREATE TABLE half (a TEXT);")
        migrate(connection, path, folder=folder)
        assert version_of(connection, path) == number + 1


def test_what_the_merge_queue_had_done_in_an_older_store_leaves_its_batch(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        (run, first), (_, second) = connection.execute("SELECT run, id FROM task ORDER BY number").fetchall()
        body = json.dumps({"type": "errand_added", "task": {"id": second}})
        connection.execute("INSERT INTO event VALUES (?, 1000, 0, 'errand_added', 1, ?)", (run, body))
        for step in WITHOUT_SCORES:
            connection.execute(step)
        connection.execute("UPDATE meta SET value = '2' WHERE name = 'schema'")
        migrate(connection, path)
        assert connection.execute("SELECT id, batch FROM task ORDER BY number").fetchall() == [(first, 1), (second, 0)]


def test_a_place_with_odd_characters_and_a_long_name_works(tmp_path: Path) -> None:
    folder = tmp_path / "a b?c#d%20e" / "grün 日本" / ("x" * 200)
    with open_store(folder / "store.db") as store:
        store.claim(RUN, name="night", source="/plan.toml", fresh=False)
        lease = store.acquire(RUN, "me")
        store.listen(RUN).close()
        store.append(lease, samples.note(RUN))
    with open_store(str(folder / "store.db"), create=False) as store:
        assert len(list(store.read(RUN))) == 1


@pytest.mark.parametrize("address", ["mysql://localhost/x", "sqlite:///x"])
def test_an_address_that_we_cannot_open_is_refused(address: str) -> None:
    with pytest.raises(UsageError):
        open_store(address)


def test_a_store_may_be_used_by_another_thread_than_opened_it(path: Path) -> None:
    with SqliteStore(path) as store, ThreadPoolExecutor(1) as pool:
        assert len(pool.submit(store.runs).result()) == 1


def test_a_log_takes_less_room_than_it_is_long(path: Path) -> None:
    with SqliteStore(path) as store:
        lease = store.acquire(RUN, "me")
        noise = os.urandom(10_000)
        logs = (LogEntry(task=0, attempt=1, data=b"line\n" * 10_000), LogEntry(task=1, attempt=1, data=noise))
        store.append(lease, samples.note(RUN, 1, logs=logs))
        assert store.log(RUN, 1, 1) == noise
    [(plain, packed), (noisy, kept)] = sql(path, "SELECT size, length(data) FROM log ORDER BY task")
    assert plain == 50_000
    assert isinstance(packed, int)
    assert packed < 1000
    assert noisy == kept == 10_000
