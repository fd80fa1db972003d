"""Down, full, read-only, newer, damaged, refused: a clear error with a hint, nothing lost, no password shown."""

import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from tests.support.mounts import mounted
from tests.support.server import Server, name_of, running
from tests.support.unprivileged import NOBODY

from budwood.errors import (
    BudwoodError,
    LeaseHeld,
    MissingExtra,
    StoreDamaged,
    StoreError,
    StoreTooNew,
    StoreUnwritable,
    UnknownEvent,
    UsageError,
)
from budwood.stores import open_store
from budwood.stores.base import Lease
from budwood.stores.postgres import PostgresStore, connect
from budwood.testing import samples
from budwood.testing.store_world import RUN, contents

pytestmark = pytest.mark.postgres
SECRET = "s3cret:/?@ü"


def lived(url: str, *, turns: int = 3) -> object:
    """Make a store with a run in it and return what it holds."""
    with PostgresStore(url) as store:
        store.claim(RUN, name="night", source="/plan.toml", fresh=False)
        lease = store.acquire(RUN, "me")
        store.append(lease, samples.tasks_added(RUN, [f"task-{n}" for n in range(turns + 1)]))
        for turn in range(turns):
            store.append(lease, samples.turn(RUN, 1 + 3 * turn, ended=turn, begun=turn + 1))
        return contents(store, RUN)


@pytest.fixture
def meddle(postgres: Server, database: str) -> Callable[[str], object]:
    """Change the database behind the store's back."""
    return lambda statement: postgres.ask(statement, database=name_of(database))


@pytest.fixture(scope="module")
def strict(postgres: Server) -> Server:
    """The server, with a user who needs a password and one who may do nothing."""
    postgres.ask(f"CREATE ROLE careful LOGIN PASSWORD '{SECRET}'")
    postgres.ask("CREATE ROLE stranger LOGIN")
    postgres.allow("local all careful scram-sha-256", "local all rejected reject")
    return postgres


class TestRefused:
    """What is wrong before there is a connection."""

    def refused(self, url: str) -> BudwoodError:
        begin_s = time.monotonic()
        with pytest.raises(BudwoodError) as caught:
            open_store(url)
        assert time.monotonic() - begin_s < 9, "at once"
        assert caught.value.hint
        return caught.value

    def test_a_server_that_is_down(self) -> None:
        error = self.refused("postgresql://budwood@/x?host=/tmp/there-is-no-server-here")
        assert isinstance(error, StoreError)
        assert error.exit_code == 4
        assert "does not answer" in error.message
        assert "start the database" in (error.hint or "")
        assert "does not answer" in self.refused("postgresql://budwood@127.0.0.1:1/x").message

    def test_a_host_that_nobody_knows(self) -> None:
        error = self.refused(f"postgresql://budwood:{SECRET[:6]}@nowhere.invalid/x")
        assert error.message == "postgresql://budwood@nowhere.invalid/x: its host is not known"
        assert error.exit_code == 4

    def test_a_database_that_is_not_there(self, postgres: Server) -> None:
        error = self.refused(postgres.url("nothing"))
        assert isinstance(error, UsageError)
        assert 'database "nothing" does not exist' in error.message
        assert "createdb" in (error.hint or "")

    @pytest.mark.parametrize("user", ["nobody-we-know", "rejected", "careful"])
    def test_a_login_that_is_refused(self, strict: Server, user: str) -> None:
        error = self.refused(strict.url(user=user))
        assert isinstance(error, StoreError)
        assert "refuses the login" in error.message
        assert error.exit_code == 4

    def test_a_wrong_password_is_not_shown(self, strict: Server) -> None:
        error = self.refused(strict.url(user="careful", password=f"{SECRET}-wrong"))
        assert "refuses the login" in error.message
        assert "s3cret" not in repr(error) + str(error) + repr(error.__cause__)

    def test_a_right_password_opens_and_is_not_shown(self, strict: Server, database: str) -> None:
        strict.ask(f"GRANT CREATE ON DATABASE {name_of(database)} TO careful")
        with PostgresStore(strict.url(name_of(database), user="careful", password=SECRET)) as store:
            store.claim(RUN, name="night", source="/plan.toml", fresh=False)
            assert "s3cret" not in store.where + repr(store) + repr(store._database.address)
            assert store.where == strict.url(name_of(database), user="careful")

    @pytest.mark.parametrize(
        "url",
        [
            *("postgresql://u:s3cret@h/db?surprise=1", "postgresql://u:s3%cret@h/db", "postgresql://[::1/s3cret"),
            *("postgresql://u:a/s3cret@localhost/x", "postgresql://u:a@s3cret@h/x"),
        ],
    )
    def test_an_address_that_cannot_be_understood_is_not_quoted(self, url: str) -> None:
        error = self.refused(url)
        assert "s3cret" not in error.message

    def test_a_user_who_may_not_make_a_schema(self, strict: Server, database: str) -> None:
        error = self.refused(strict.url(name_of(database), user="stranger"))
        assert isinstance(error, StoreUnwritable)
        assert "user stranger may not make schema budwood" in error.message
        assert "GRANT CREATE ON DATABASE" in (error.hint or "")

    def test_a_user_who_may_not_look_into_the_schema(self, strict: Server, database: str) -> None:
        lived(database)
        error = self.refused(strict.url(name_of(database), user="stranger"))
        assert isinstance(error, StoreUnwritable)
        assert "does not let user stranger into schema budwood" in error.message
        assert "GRANT USAGE" in (error.hint or "")

    def test_a_user_who_may_only_look(self, strict: Server, database: str) -> None:
        held = lived(database)
        strict.ask("GRANT USAGE ON SCHEMA budwood TO stranger", database=name_of(database))
        strict.ask("GRANT SELECT ON ALL TABLES IN SCHEMA budwood TO stranger", database=name_of(database))
        with PostgresStore(strict.url(name_of(database), user="stranger")) as store:
            assert contents(store, RUN) == held
            assert store.holder(RUN) is None
            with pytest.raises(StoreUnwritable, match="does not let this user"):
                store.ask(RUN, "pause", key="1")

    def test_a_schema_that_an_administrator_made(self, strict: Server, database: str) -> None:
        strict.ask("CREATE SCHEMA budwood AUTHORIZATION stranger", database=name_of(database))
        with PostgresStore(strict.url(name_of(database), user="stranger")) as store:
            assert store.runs() == []

    def test_a_database_in_another_encoding(self, postgres: Server) -> None:
        postgres.ask("CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0 OWNER budwood")
        error = self.refused(postgres.url("latin"))
        assert isinstance(error, UsageError)
        assert "keeps text as LATIN1" in error.message
        postgres.drop("latin")

    def test_no_connection_left(self) -> None:
        settings = {"max_connections": "5", "superuser_reserved_connections": "1", "autovacuum_worker_slots": "1"}
        with running(settings=settings) as server:
            url = server.url(server.create())
            with PostgresStore(url) as one, PostgresStore(url), PostgresStore(url):
                one.claim(RUN, name="night", source="", fresh=False)
                one.acquire(RUN, "me")
                error = self.refused(url)
                assert isinstance(error, StoreError)
                assert "has no connection left" in error.message
                assert "max_connections" in (error.hint or "")

    def test_no_connection_left_for_a_lease(self, postgres: Server, database: str) -> None:
        with PostgresStore(database) as store:
            store.claim(RUN, name="night", source="", fresh=False)
            postgres.ask(f"ALTER DATABASE {name_of(database)} CONNECTION LIMIT 1")
            with pytest.raises(StoreError, match="has no connection left"):
                store.acquire(RUN, "me")

    def test_psycopg_that_is_not_installed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "psycopg", None)
        with pytest.raises(MissingExtra) as caught:
            open_store("postgresql://u:s3cret@h/db")
        assert caught.value.hint == "pip install 'budwood[postgres]'"
        assert "s3cret" not in caught.value.message
        assert caught.value.exit_code == 2


class TestReadOnly:
    def test_what_may_only_be_read_is_read_and_not_written(
        self, postgres: Server, database: str, meddle: Callable[[str], object]
    ) -> None:
        held = lived(database)
        postgres.ask(f"ALTER DATABASE {name_of(database)} SET default_transaction_read_only = on")
        with PostgresStore(database) as store:
            assert contents(store, RUN) == held
            assert store.holder(RUN) is None
            assert store.check() == []
            for write in (
                lambda: store.acquire(RUN, "me"),
                lambda: store.ask(RUN, "pause", key="new"),
                lambda: store.claim("new", name="new", source="", fresh=True),
            ):
                with pytest.raises(StoreUnwritable, match="can only be read") as caught:
                    write()
                assert caught.value.hint
            assert contents(store, RUN) == held

    def test_a_store_cannot_be_made_there(self, postgres: Server, database: str) -> None:
        postgres.ask(f"ALTER DATABASE {name_of(database)} SET default_transaction_read_only = on")
        with pytest.raises(StoreUnwritable, match="can only be read"):
            PostgresStore(database)

    def test_a_driver_that_is_met_by_it_writes_nothing_and_can_go_on(self, postgres: Server, database: str) -> None:
        with PostgresStore(database) as store:
            store.claim(RUN, name="night", source="", fresh=False)
            lease = store.acquire(RUN, "me")
            name = name_of(database)
            postgres.ask(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
            postgres.cut(name, which=f"pid = {store._database.connection.info.backend_pid}")
            with pytest.raises(StoreUnwritable):
                store.append(lease, samples.note(RUN))
            postgres.ask(f"ALTER DATABASE {name} RESET default_transaction_read_only")
            postgres.cut(name)
            store.append(lease, samples.note(RUN))
            assert len(list(store.read(RUN))) == 1


@pytest.fixture
def small(postgres: Server) -> Iterator[tuple[str, Path]]:
    """A database on a disk of its own, with little room."""
    with mounted(postgres.folder / "disk", size="24M") as disk:
        place = disk / "space"
        place.mkdir(mode=0o700)
        if os.geteuid() == 0:
            os.chown(place, NOBODY, NOBODY)
        postgres.ask(f"CREATE TABLESPACE little LOCATION '{place}'")
        postgres.ask("CREATE DATABASE small OWNER budwood TABLESPACE little")
        yield postgres.url("small"), disk
        postgres.drop("small")
        postgres.ask("DROP TABLESPACE little")


def test_a_full_disk_loses_nothing_and_the_same_driver_goes_on_when_there_is_room(small: tuple[str, Path]) -> None:
    url, disk = small
    with PostgresStore(url) as store:
        store.claim(RUN, name="night", source="", fresh=False)
        lease = store.acquire(RUN, "me")
        ballast = disk / "ballast"
        ballast.write_bytes(b"x" * 4_000_000)
        written = _until_full(store, lease)
        ballast.unlink()  # first: a server without room may have to write a page to make place for one that is read
        held = contents(store, RUN)
        assert len(list(store.read(RUN))) == written
        with PostgresStore(url) as another:
            assert contents(another, RUN) == held
        store.append(lease, samples.turn(RUN, written, ended=0, begun=1))
        assert len(list(store.read(RUN))) == written + 3


def _until_full(store: PostgresStore, lease: Lease) -> int:
    written = 0
    for number in range(500):
        log = os.urandom(100_000 + written)
        try:
            store.append(lease, samples.turn(RUN, written, ended=number, begun=number + 1, log=log))
        except StoreUnwritable as error:
            assert "full" in error.message  # noqa: PT017
            return written
        written += 3
    raise AssertionError("the disk never got full")


class TestSchemas:
    def test_opening_for_reading_makes_nothing(self, database: str, meddle: Callable[[str], object]) -> None:
        with pytest.raises(UsageError, match="no store") as caught:
            open_store(database, create=False)
        assert "budwood run" in str(caught.value)
        assert meddle("SELECT nspname FROM pg_namespace WHERE nspname = 'budwood'") == []

    def test_a_newer_schema_is_refused_and_left_alone(self, database: str, meddle: Callable[[str], object]) -> None:
        lived(database)
        meddle("UPDATE budwood.meta SET value = '999' WHERE name = 'schema'")
        for create in (True, False):
            with pytest.raises(StoreTooNew, match="999") as caught:
                PostgresStore(database, create=create)
            assert caught.value.exit_code == 2
        assert meddle("SELECT value FROM budwood.meta") == [("999",)]

    def test_a_schema_of_another_program_is_left_alone(self, database: str, meddle: Callable[[str], object]) -> None:
        meddle("CREATE SCHEMA budwood AUTHORIZATION budwood; CREATE TABLE budwood.bookmarks (address text)")
        with pytest.raises(UsageError, match="another program"):
            PostgresStore(database)

    def test_tables_that_are_gone_are_damage(self, database: str, meddle: Callable[[str], object]) -> None:
        lived(database)
        meddle("DROP TABLE budwood.log")
        with PostgresStore(database) as store, pytest.raises(StoreDamaged, match=RUN):
            store.log(RUN, 0, 1)
        meddle("DROP TABLE budwood.dependency CASCADE")
        with PostgresStore(database) as store, pytest.raises(StoreDamaged, match="a part of its schema is gone"):
            store.dependencies(RUN)


class TestDamage:
    @pytest.mark.parametrize("body", ['{"type":', "null", '{"type":"run_created"}'])
    def test_a_broken_event_is_named_by_run_and_number(
        self, database: str, meddle: Callable[[str], object], body: str
    ) -> None:
        lived(database)
        meddle(f"UPDATE budwood.event SET body = '{body}' WHERE number = 2")
        with PostgresStore(database) as store, pytest.raises(StoreDamaged, match=rf"event 2 .*{RUN}"):
            list(store.read(RUN))

    def test_the_store_itself_names_what_is_no_json(self, database: str, meddle: Callable[[str], object]) -> None:
        lived(database)
        meddle("UPDATE budwood.event SET body = '{' WHERE number = 2")
        with PostgresStore(database) as store:
            assert store.check() == [f"run {RUN}: event 2 cannot be read"]

    def test_a_missing_event_is_named(self, database: str, meddle: Callable[[str], object]) -> None:
        lived(database)
        meddle("DELETE FROM budwood.event WHERE number = 4")
        with PostgresStore(database) as store:
            with pytest.raises(StoreDamaged, match=rf"event 4 is missing.*{RUN}"):
                list(store.read(RUN))
            assert any(RUN in problem for problem in store.check())

    def test_an_event_or_state_that_we_do_not_know_is_no_damage(
        self, database: str, meddle: Callable[[str], object]
    ) -> None:
        lived(database)
        meddle("UPDATE budwood.event SET kind = 'moon_landed' WHERE number = 2")
        meddle("UPDATE budwood.task SET state = 'dreaming' WHERE number = 1")
        with PostgresStore(database) as store:
            with pytest.raises(UnknownEvent, match="moon_landed"):
                list(store.read(RUN))
            with pytest.raises(UnknownEvent, match="dreaming"):
                store.tasks(RUN)

    def test_a_damaged_log_or_row_is_named(self, database: str, meddle: Callable[[str], object]) -> None:
        lived(database)
        meddle("UPDATE budwood.log SET data = '\\x00', size = 5000 WHERE task = 0")
        meddle("UPDATE budwood.attempt SET error = '{}' WHERE task = 0")
        with PostgresStore(database) as store:
            with pytest.raises(StoreDamaged, match=f"log of attempt 1 of task 0.*{RUN}"):
                store.log(RUN, 0, 1)
            with pytest.raises(StoreDamaged, match=RUN):
                store.attempts(RUN)


class TestWaiting:
    def test_a_row_that_stays_locked_is_an_error_in_the_end(
        self, postgres: Server, database: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(connect._SETTINGS, "lock_timeout", "200ms")
        with PostgresStore(database) as store, psycopg.connect(database) as blocker:
            store.claim(RUN, name="night", source="", fresh=False)
            lease = store.acquire(RUN, "me")
            blocker.execute("SELECT FROM budwood.lease FOR UPDATE")
            with pytest.raises(StoreError, match="stayed locked"):
                store.append(lease, samples.note(RUN))
            blocker.rollback()
            store.append(lease, samples.note(RUN))

    def test_a_limit_on_statements_is_named(self, postgres: Server, database: str) -> None:
        lived(database)
        postgres.ask(f"ALTER DATABASE {name_of(database)} SET statement_timeout = '50ms'")
        with PostgresStore(database) as store:
            lease = store.acquire(RUN, "me")
            many = samples.tasks_added(RUN, [f"task-{n}" for n in range(20_000)], after=10)
            with pytest.raises(StoreError, match="took longer than the server allows"):
                store.append(lease, many)

    def test_two_machines_cannot_drive_one_run(self, database: str) -> None:
        with PostgresStore(database) as here, PostgresStore(database) as there:
            here.claim(RUN, name="night", source="", fresh=False)
            here.acquire(RUN, "pid 1 on here")
            begin_s = time.monotonic()
            with pytest.raises(LeaseHeld, match="already driven by pid 1 on here"):
                there.acquire(RUN, "pid 1 on there")
            assert time.monotonic() - begin_s < 5
