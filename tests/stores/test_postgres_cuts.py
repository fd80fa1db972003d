"""Connections that break: whatever the server had got of a commit, it is written once, and the same driver goes on."""

import threading
import time
from collections.abc import Iterator
from contextlib import closing

import msgspec
import psycopg
import pytest
from tests.support.cutting import Cut, Door, door_to
from tests.support.server import Server, name_of

from budwood.errors import LeaseHeld, LeaseLost, StoreError
from budwood.stores.base import Answer, Commit, Lease, LogEntry
from budwood.stores.postgres import PostgresStore, leases
from budwood.testing import samples
from budwood.testing.store_requests import WAKES_WITHIN_S, woken
from budwood.testing.store_world import RUN, contents

pytestmark = pytest.mark.postgres
CUTS: list[Cut] = ["before", "half", "during", "after"]


@pytest.fixture
def door(postgres: Server) -> Iterator[Door]:
    with door_to(postgres.socket) as door:
        yield door


@pytest.fixture
def store(door: Door, database: str) -> Iterator[PostgresStore]:
    """A store behind the door; its run has two tasks and a request, and it holds the lease."""
    with PostgresStore(f"postgresql://budwood@127.0.0.1:{door.port}/{name_of(database)}", patience_s=30) as store:
        store.claim(RUN, name="night", source="/plan.toml", fresh=False)
        yield store


@pytest.fixture
def lease(store: PostgresStore) -> Lease:
    lease = store.acquire(RUN, "the first driver")
    store.append(lease, samples.tasks_added(RUN, ["task-0", "task-1"]))
    store.ask(RUN, "pause", key="zero")
    # The server knows the statement from here on, so that the next message to it is the commit itself.
    store.append(lease, turned(1, request=1))
    store.ask(RUN, "pause", key="one")
    return lease


def turned(after: int = 4, *, request: int = 2) -> Commit:
    """What a driver writes in a turn, and an answer."""
    turn = samples.turn(RUN, after, ended=0, begun=1)
    return msgspec.structs.replace(turn, answers=(Answer(request=request, state="taken", text="paused"),))


@pytest.mark.parametrize("how", CUTS)
def test_a_commit_is_written_once_wherever_it_was_cut(
    store: PostgresStore, lease: Lease, door: Door, database: str, how: Cut
) -> None:
    door.cut_next(how)
    store.append(lease, turned())
    assert door.cuts == 1
    with PostgresStore(database) as other:
        assert [recorded.number for recorded in other.read(RUN)] == [1, 2, 3, 4, 5, 6, 7]
        assert tuple(other.read(RUN, 4)) == turned().events
        assert [request.state for request in other.requests(RUN)] == ["taken", "taken"]
        assert contents(other, RUN) == contents(store, RUN)
    store.append(lease, samples.note(RUN, 7))
    assert store.check() == []


@pytest.mark.parametrize("how", CUTS)
def test_a_commit_without_events_is_written_once_too(store: PostgresStore, lease: Lease, door: Door, how: Cut) -> None:
    for number, skip in enumerate((0, 1), start=2):
        answer = Answer(request=number, state="refused", text="no ␛\0")
        log = LogEntry(task=0, attempt=1, data=f"{number}".encode())
        store.ask(RUN, "pause", key="two")
        door.cut_next(how, skip=skip)
        store.append(lease, Commit(after=4, events=(), rows=samples.note(RUN, 3).rows, logs=(log,), answers=(answer,)))
        assert [(each.state, each.answer) for each in store.requests(RUN)][number - 1] == ("refused", "no ␛\0")
        assert store.log(RUN, 0, 1) == f"{number}".encode()
    assert door.cuts == 2
    assert store.check() == []


@pytest.mark.parametrize("how", CUTS)
def test_a_large_commit_is_whole_wherever_it_was_cut(
    store: PostgresStore, lease: Lease, door: Door, how: Cut, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("budwood.stores.postgres.commits._MOST_ROWS", 100)
    ids = [f"task-{number}" for number in range(250)]
    for skip in range(8):
        door.cut_next(how, skip=skip)
        store.append(lease, samples.tasks_added(RUN, ids, after=4 + skip))
        assert len(list(store.read(RUN))) == 5 + skip
        assert [row.id for row in store.tasks(RUN)] == ids
    door.leave_alone()
    assert door.cuts >= 6, "begin, three messages, commit, and preparing them"
    assert store.check() == []


def test_a_commit_that_the_server_still_works_at_is_not_written_again(
    store: PostgresStore, lease: Lease, door: Door, database: str
) -> None:
    with psycopg.connect(database) as blocker:
        blocker.execute("SELECT FROM budwood.lease FOR UPDATE")
        door.cut_next("during")
        writer = threading.Thread(target=store.append, args=(lease, turned()))
        writer.start()
        waiting = (
            "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
        )
        # The first message waits for the row, though nobody will hear of it; the second has come after it.
        until_s = time.monotonic() + 30
        while blocker.execute(waiting).fetchone() != (2,):
            assert time.monotonic() < until_s
            time.sleep(0.01)
            blocker.execute("SELECT pg_stat_clear_snapshot()")
        blocker.commit()
        writer.join(30)
    assert not writer.is_alive()
    assert tuple(store.read(RUN, 4)) == turned().events
    assert store.check() == []


@pytest.mark.parametrize("how", CUTS)
def test_everything_else_survives_a_cut_as_well(store: PostgresStore, lease: Lease, door: Door, how: Cut) -> None:
    door.cut_next(how)
    assert len(list(store.read(RUN))) == 4
    door.cut_next(how)
    assert store.ask(RUN, "retry", key="two").id == 3
    assert [request.key for request in store.requests(RUN)] == ["zero", "one", "two"]
    door.cut_next(how)
    made = store.claim("bbbbbbbbbb", name="night", source="/other.toml", fresh=False)
    assert (made.run, made.name, made.created) == ("bbbbbbbbbb", "night-2", True)
    door.cut_next(how)
    store.renew(lease)
    door.cut_next(how)
    store.retire(lease, "/elsewhere/store.db")
    assert store.moved_to(RUN) == "/elsewhere/store.db"
    assert door.cuts == 5


@pytest.mark.parametrize("how", ["fast", "immediate"])
def test_a_server_that_is_restarted_finds_the_same_driver(postgres: Server, database: str, how: str) -> None:
    with PostgresStore(database, patience_s=30) as store, PostgresStore(database, patience_s=30) as other:
        store.claim(RUN, name="night", source="/plan.toml", fresh=False)
        lease = store.acquire(RUN, "the first driver")
        with closing(store.listen(RUN)) as bell:
            descriptor = bell.fileno()
            for number in range(3):
                postgres.restart("fast" if how == "fast" else "immediate")
                assert woken(bell, within_s=WAKES_WITHIN_S), "one whose line broke is woken"
                bell.drain()
                assert not woken(bell, within_s=0)
                assert bell.fileno() == descriptor
                store.append(lease, samples.note(RUN, number))
                assert other.holder(RUN) == "the first driver"
                other.ask(RUN, "pause", key=str(number))
                assert woken(bell, within_s=WAKES_WITHIN_S)
                bell.drain()
        with pytest.raises(LeaseHeld, match="the first driver"):
            other.acquire(RUN, "the second driver")
        assert len(list(other.read(RUN))) == 3


def test_a_driver_whose_connections_are_cut_comes_back_before_another_takes_over(
    postgres: Server, database: str
) -> None:
    with PostgresStore(database) as store, PostgresStore(database) as other:
        store.claim(RUN, name="night", source="/plan.toml", fresh=False)
        lease = store.acquire(RUN, "the first driver")
        with closing(store.listen(RUN)) as bell:
            found: list[BaseException] = []

            def overtake() -> None:
                try:
                    other.acquire(RUN, "the second driver")
                except StoreError as error:
                    found.append(error)

            pid = other._database.connection.info.backend_pid
            assert postgres.cut(name_of(database), which=f"pid <> {pid}") == 2
            rival = threading.Thread(target=overtake)
            rival.start()
            while rival.is_alive():  # as a driver does between its other work; the test's own limit bounds this
                if woken(bell, within_s=0.05):
                    bell.drain()
            assert [type(error) for error in found] == [LeaseHeld]
            store.append(lease, samples.note(RUN))


def test_one_who_follows_is_woken_after_a_restart(postgres: Server, database: str) -> None:
    with PostgresStore(database, patience_s=30) as store, PostgresStore(database, patience_s=30) as other:
        store.claim(RUN, name="night", source="/plan.toml", fresh=False)
        lease = store.acquire(RUN, "the first driver")
        assert not other.wait(RUN, after=0, timeout_s=0)
        postgres.restart()
        writer = threading.Thread(target=store.append, args=(lease, samples.note(RUN)))
        writer.start()
        assert other.wait(RUN, after=0, timeout_s=WAKES_WITHIN_S)
        writer.join(30)


def test_a_server_that_stays_away_is_given_up_and_the_same_driver_can_go_on_later(
    postgres: Server, database: str
) -> None:
    with PostgresStore(database, patience_s=0.5) as store:
        store.claim(RUN, name="night", source="/plan.toml", fresh=False)
        lease = store.acquire(RUN, "the first driver")
        bell = store.listen(RUN)
        postgres.stop()
        try:
            for _ in range(2):
                with pytest.raises(StoreError, match="does not answer"):
                    bell.drain()
            begin_s = time.monotonic()
            with pytest.raises(StoreError, match="does not answer") as caught:
                store.append(lease, samples.note(RUN))
            assert 0.3 < time.monotonic() - begin_s < 10
            assert "budwood resume" in (caught.value.hint or "")
            assert caught.value.exit_code == 4
        finally:
            postgres.start()
        store.append(lease, samples.note(RUN))
        assert len(list(store.read(RUN))) == 1
        bell.drain()
        store.ask(RUN, "pause", key="1")
        assert woken(bell, within_s=WAKES_WITHIN_S)
        bell.close()


def test_a_driver_that_gives_up_leaves_at_once(postgres: Server, database: str) -> None:
    store = PostgresStore(database, patience_s=60)
    store.claim(RUN, name="night", source="/plan.toml", fresh=False)
    lease = store.acquire(RUN, "the first driver")
    postgres.stop()
    try:
        begin_s = time.monotonic()
        store.release(lease)
        store.close()
        assert time.monotonic() - begin_s < 10
    finally:
        postgres.start()


def end_lease(postgres: Server, database: str, *, in_s: float = 0.0) -> None:
    """Move a lease's end, as if time had passed."""
    moved = f"UPDATE budwood.lease SET ends_at = clock_timestamp() + interval '{in_s} seconds'"
    postgres.ask(moved, database=name_of(database))


def test_a_lease_ends_by_the_servers_clock_though_its_holder_is_connected(postgres: Server, database: str) -> None:
    with PostgresStore(database) as store, PostgresStore(database) as other:
        store.claim(RUN, name="night", source="/plan.toml", fresh=False)
        lease = store.acquire(RUN, "the first driver")
        end_lease(postgres, database)
        assert other.holder(RUN) is None
        # While nobody took it, the one who has it may go on.
        store.append(lease, samples.note(RUN))
        store.renew(lease)
        assert other.holder(RUN) == "the first driver"
        end_lease(postgres, database)
        second = other.acquire(RUN, "the second driver")
        with pytest.raises(LeaseLost):
            store.append(lease, samples.note(RUN, 1))
        with pytest.raises(LeaseLost):
            store.renew(lease)
        other.append(second, samples.note(RUN, 1))


def test_one_who_was_overtaken_while_cut_off_is_told_so_by_the_bell(postgres: Server, database: str) -> None:
    with PostgresStore(database) as store, PostgresStore(database) as other:
        store.claim(RUN, name="night", source="/plan.toml", fresh=False)
        store.acquire(RUN, "the first driver")
        with closing(store.listen(RUN)) as bell:
            pid = other._database.connection.info.backend_pid
            postgres.cut(name_of(database), which=f"pid <> {pid}")
            begin_s = time.monotonic()
            other.acquire(RUN, "the second driver")
            assert time.monotonic() - begin_s < leases.LASTS_S / 2
            assert woken(bell, within_s=WAKES_WITHIN_S)
            with pytest.raises(LeaseLost):
                bell.drain()


def test_after_a_restart_only_time_tells_that_a_holder_is_gone(postgres: Server, database: str) -> None:
    with PostgresStore(database, patience_s=30) as store, PostgresStore(database, patience_s=30) as other:
        store.claim(RUN, name="night", source="/plan.toml", fresh=False)
        store.acquire(RUN, "the first driver")
        postgres.restart()
        end_lease(postgres, database, in_s=2.5)
        begin_s = time.monotonic()
        assert other.holder(RUN) == "the first driver"
        assert other.acquire(RUN, "the second driver").fence == 2
        assert time.monotonic() - begin_s > 2.0
