"""The PostgreSQL store against the contract, and what is its own: schemas, migrations, text, sizes."""

import os
import shutil
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import psycopg
import pytest
from tests.support.server import Server, name_of, running

from budwood.errors import StoreError, UsageError
from budwood.stores.base import Commit, Lease, LogEntry, Store
from budwood.stores.postgres import PostgresStore, commits, reading
from budwood.stores.postgres.connect import Connection, connect, read_address
from budwood.stores.postgres.migrate import migrate, migrations, version_of
from budwood.stores.postgres.text import as_json, escape, from_json, restore
from budwood.testing import samples
from budwood.testing.store_world import RUN, contents
from budwood.testing.stores import StoreConformance, World

pytestmark = pytest.mark.postgres


class OnServer(World):
    def __init__(self, url: str) -> None:
        self._url = url
        self._stores: list[PostgresStore] = []

    def open(self) -> Store:
        store = PostgresStore(self._url)
        self._stores.append(store)
        return store

    def kill_holder(self, lease: Lease) -> None:
        # What the kernel does at a process's death: its connections end, and nobody has been told.
        [store] = [each for each in self._stores if lease in each._lines]
        connections = (store._lines[lease].connection, store._database.connection)
        pids = [connection.info.backend_pid for connection in connections]
        for connection in connections:
            end = socket.socket(fileno=connection.fileno())
            end.shutdown(socket.SHUT_RDWR)
            end.detach()
        _wait_noticed(self._url, pids)


def _wait_noticed(url: str, pids: list[int]) -> None:
    """Wait until the server has noticed that connections are gone."""
    until_s = time.monotonic() + 30
    with psycopg.connect(url, autocommit=True) as connection:
        while connection.execute("SELECT 1 FROM pg_stat_activity WHERE pid = ANY (%s)", (pids,)).fetchone():
            assert time.monotonic() < until_s
            time.sleep(0.01)


class TestPostgresStore(StoreConformance):
    @pytest.fixture
    def world(self, schema: str) -> World:
        return OnServer(schema)


@pytest.fixture(scope="module")
def older() -> Iterator[Server]:
    """The oldest server that the tests can start."""
    with running(version=16) as server:
        yield server


@pytest.mark.slow
class TestOnAnOlderServer(StoreConformance):
    @pytest.fixture
    def world(self, older: Server) -> World:
        return OnServer(older.url(older.create()))


class TestSchemas:
    def test_everything_is_in_one_schema(self, postgres: Server, database: str) -> None:
        with PostgresStore(database) as store:
            store.claim(RUN, name="night", source="", fresh=False)
        made = "SELECT DISTINCT relnamespace::regnamespace::text FROM pg_class WHERE oid >= 16384 AND relkind = 'r'"
        assert postgres.ask(made, database=name_of(database)) == [("budwood",)]

    @pytest.mark.parametrize("name", ["night", "Night", "night_2", "grün"])
    def test_the_address_can_name_another(self, postgres: Server, database: str, name: str) -> None:
        options = f"-c search_path={name}" if name.islower() else f'-csearch_path="{name}"'
        other = f"{database}&options={options.replace(' ', '%20').replace('=', '%3D')}"
        with PostgresStore(database) as one, PostgresStore(other) as two:
            one.claim(RUN, name="night", source="", fresh=False)
            two.claim(RUN, name="day", source="", fresh=False)
            assert [row.name for row in one.runs()] == ["night"]
            # Locks and channels are the database's; those of two stores must not meet.
            first, second = one.acquire(RUN, "one"), two.acquire(RUN, "two")
            one.append(first, samples.note(RUN))
            two.append(second, samples.note(RUN))
            assert two.where.startswith(one.where)
        made = f"SELECT nspname FROM pg_namespace WHERE nspname = '{name}'"
        assert postgres.ask(made, database=name_of(database)) == [(name,)]

    def test_a_store_may_be_used_by_another_thread_than_opened_it(self, schema: str) -> None:
        with PostgresStore(schema) as store, ThreadPoolExecutor(1) as pool:
            assert pool.submit(store.runs).result() == []

    def test_a_closed_store_is_not_opened_again_by_using_it(self, schema: str) -> None:
        with PostgresStore(schema) as store:
            store.claim(RUN, name="night", source="", fresh=False)
            events = store.read(RUN)
        for use in (store.runs, lambda: next(events)):
            with pytest.raises(StoreError, match="was closed"):
                use()

    def test_a_dump_can_be_brought_back(self, postgres: Server, database: str) -> None:
        with PostgresStore(database) as store:
            store.claim(RUN, name="night", source="", fresh=False)
            lease = store.acquire(RUN, "me")
            store.append(lease, samples.tasks_added(RUN, [7, "b"], edges=[(1, 0)]))
            held = contents(store, RUN)
            dump = postgres.run("pg_dump", "--schema=budwood", database)
        copy = postgres.create()
        (postgres.folder / "dump.sql").write_text(dump)
        postgres.run("psql", "--quiet", "-v", "ON_ERROR_STOP=1", "-f", "dump.sql", postgres.url(copy))
        with PostgresStore(postgres.url(copy), create=False) as store:
            assert contents(store, RUN) == held
            # The driver of then is in the dump, but not at this server.
            store.append(store.acquire(RUN, "another"), samples.note(RUN, 1))
            assert store.check() == []
        assert postgres.ask("SELECT task FROM budwood.tasks ORDER BY number", database=copy) == [("7",), ("b",)]
        postgres.drop(copy)


class TestMigrations:
    @pytest.fixture
    def connection(self, database: str) -> Iterator[Connection]:
        with connect(read_address(database)) as connection:
            yield connection

    def test_they_are_numbered_without_gaps(self) -> None:
        assert list(migrations()) == list(range(1, len(migrations()) + 1))

    def test_an_older_schema_is_brought_up_to_date_and_a_broken_step_leaves_the_last_good_one(
        self, database: str, connection: Connection, tmp_path: Path
    ) -> None:
        with PostgresStore(database) as store:
            store.claim(RUN, name="night", source="", fresh=False)
        folder, address, number = tmp_path / "steps", read_address(database), len(migrations()) + 1
        shutil.copytree(migrations()[1].parent, folder)
        (folder / f"{number:04}_colour.sql").write_text("ALTER TABLE run ADD COLUMN colour text;")
        (folder / f"{number + 1:04}_broken.sql").write_text("CREATE TABLE half (a text); SELECT nonsense;")
        with pytest.raises(psycopg.errors.UndefinedColumn):
            migrate(connection, address, folder=folder)
        assert version_of(connection, address) == number
        assert connection.execute("SELECT colour FROM run").fetchall() == [(None,)]
        assert connection.execute("SELECT to_regclass('half')").fetchall() == [(None,)]
        (folder / f"{number + 1:04}_broken.sql").write_text("CREATE TABLE half (a text);")
        migrate(connection, address, folder=folder)
        assert version_of(connection, address) == number + 1

    def test_a_place_without_a_schema_has_no_version(self, database: str, connection: Connection) -> None:
        assert version_of(connection, read_address(database)) is None
        connection.execute("CREATE SCHEMA budwood")
        assert version_of(connection, read_address(database)) == 0
        connection.execute("CREATE TABLE budwood.other (a text)")
        with pytest.raises(UsageError, match="another program"):
            version_of(connection, read_address(database))


class TestText:
    @pytest.mark.parametrize("text", ["", "plain", "\0", "a\0b", "␛", "␛0", "␛␛0\0", "\0␛\0", "grün 🌱"])
    def test_every_text_comes_back(self, text: str) -> None:
        kept = escape(text)
        assert "\0" not in kept
        assert restore(kept) == text
        assert msgspec.json.decode(from_json(as_json([{"a": [text]}]) or "")) == [{"a": [text]}]

    def test_what_needs_nothing_is_not_touched(self) -> None:
        assert escape("grün 🌱") == "grün 🌱"
        assert as_json([{"a": "\\u0000 is text here"}]) == '[{"a":"\\\\u0000 is text here"}]'
        assert as_json(()) is None

    def test_every_text_of_a_row_and_a_request_may_have_a_nul(self, schema: str) -> None:
        with PostgresStore(schema) as store:
            store.claim(RUN, name="a\0b", source="/s\0", fresh=False)
            lease = store.acquire(RUN, "me\0␛")
            assert store.holder(RUN) == "me\0␛"
            odd = {"goal": "g\0", "reason": "r\0", "cwd": "c\0␛", "made_by": "m\0"}
            rows = msgspec.structs.replace(samples.note(RUN).rows, run=samples.run_row(RUN, 1))
            rows = msgspec.structs.replace(rows, run=msgspec.structs.replace(rows.run, **odd))
            store.append(lease, msgspec.structs.replace(samples.note(RUN), rows=rows))
            [row] = store.runs()
            assert {name: getattr(row, name) for name in odd} == odd
            assert (row.name, row.source) == ("a\0b", "/s\0")
            asked = store.ask(RUN, "k\0", body="b\0", key="key\0")
            assert store.requests(RUN) == [asked]
            assert (asked.kind, asked.body, asked.key) == ("k\0", "b\0", "key\0")
            store.retire(lease, "/else\0where")
            assert store.moved_to(RUN) == "/else\0where"

    def test_an_event_is_kept_byte_by_byte(self, schema: str, postgres: Server) -> None:
        commit = samples.tasks_added(RUN, ["a\0b", "␛ 🌱"])
        with PostgresStore(schema) as store:
            store.claim(RUN, name="night", source="", fresh=False)
            store.append(store.acquire(RUN, "me"), commit)
        with psycopg.connect(schema) as connection:
            [(body,)] = connection.execute("SELECT body FROM event").fetchall()
        assert '"id":"a\\u0000b"' in body
        assert '"id":"␛ 🌱"' in body


class TestSizes:
    @pytest.fixture
    def store(self, schema: str) -> Iterator[PostgresStore]:
        with PostgresStore(schema) as store:
            store.claim(RUN, name="night", source="", fresh=False)
            yield store

    def test_a_commit_of_any_size_is_one_commit(self, store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(commits, "_MOST_ROWS", 7)
        monkeypatch.setattr(commits, "_MOST_BYTES", 1000)
        ids = [f"task-{number}" for number in range(50)]
        edges = [(number, number - 1) for number in range(1, 50)]
        added = samples.tasks_added(RUN, ids, edges=edges)
        events = samples.recorded(0, [added.events[0].event, *(samples.note(RUN).events[0].event for _ in range(20))])
        attempts = tuple(samples.attempt_row(number) for number in range(50))
        rows = msgspec.structs.replace(added.rows, run=samples.run_row(RUN, 21, tasks=50), attempts=attempts)
        logs = tuple(LogEntry(task=number, attempt=1, data=os.urandom(400)) for number in range(50))
        store.append(store.acquire(RUN, "me"), Commit(after=0, events=events, rows=rows, logs=logs))
        assert tuple(store.read(RUN)) == events
        assert [row.id for row in store.tasks(RUN)] == ids
        assert store.attempts(RUN) == list(attempts)
        assert store.dependencies(RUN) == list(rows.dependencies)
        assert [store.log(RUN, number, 1) for number in range(50)] == [entry.data for entry in logs]
        assert store.check() == []

    def test_large_events_are_read_a_few_at_a_time(self, store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(reading, "_PAGE_BYTES", 5000)
        monkeypatch.setattr(reading, "_PAGE", 7)
        large = samples.tasks_added(RUN, ["x" * 3000]).events[0].event
        small = samples.note(RUN).events[0].event
        events = samples.recorded(0, [large, large, small, small, large, *([small] * 20), large])
        lease = store.acquire(RUN, "me")
        store.append(lease, Commit(after=0, events=events, rows=samples.note(RUN, len(events) - 1).rows))
        assert tuple(store.read(RUN)) == events
        assert tuple(store.read(RUN, 3)) == events[3:]
        growing = store.read(RUN)
        first = next(growing)
        store.append(lease, samples.note(RUN, len(events)))
        assert [first, *growing] == [*events, *samples.note(RUN, len(events)).events]

    def test_a_log_takes_less_room_than_it_is_long(self, store: PostgresStore, schema: str) -> None:
        noise = os.urandom(10_000)
        logs = (LogEntry(task=0, attempt=1, data=b"line\n" * 10_000), LogEntry(task=1, attempt=1, data=noise))
        store.append(store.acquire(RUN, "me"), samples.note(RUN, logs=logs))
        assert store.log(RUN, 1, 1) == noise
        with psycopg.connect(schema) as connection:
            found = connection.execute("SELECT size, length(data) FROM log ORDER BY task").fetchall()
        [(plain, packed), (noisy, kept)] = found
        assert plain == 50_000
        assert packed < 1000
        assert noisy == kept == 10_000

    def test_what_is_written_again_and_again_does_not_grow(self, store: PostgresStore, schema: str) -> None:
        lease = store.acquire(RUN, "me")
        store.append(lease, samples.tasks_added(RUN, ["task-0", "task-1"]))
        for number in range(300):
            store.append(lease, samples.turn(RUN, 1 + 3 * number, ended=0, begun=1, log=b""))
        held = contents(store, RUN)
        with psycopg.connect(schema) as connection:
            for table in ("run", "task", "attempt", "lease"):
                [(size,)] = connection.execute(f"SELECT pg_relation_size('{table}')").fetchall()
                assert size <= 4 * 8192, f"{table} has two rows, and {size} bytes"
        assert contents(store, RUN) == held
