"""Rules about commits: all or nothing, dense numbers, and that everything reads back as it was written.

Knows the contract of stores; must not know any backend.
"""

import msgspec
import pytest

from budwood._core.model import TaskId, TaskPhase
from budwood._core.rows import DependencyRow
from budwood.errors import StoreConflict
from budwood.stores.base import Answer, Commit, Lease, LogEntry, Store
from budwood.testing import samples
from budwood.testing.store_world import RUN, StoreRules, World, contents

ODD_IDS: tuple[TaskId, ...] = (
    *(
        0,
        7,
        "8",
        -1,
        2**63 - 1,
        -(2**63),
        "7a",
        "a b",
        "grün",
        "日本語",
        "🌱",
        "a\0b",
        "a'b\"c\\",
        "x" * 10_000,
        "null",
    ),
    *("true", "1e3", " ", "\n", "../up"),
)


class CommitRules(StoreRules):
    """A commit is there as a whole, or not at all."""

    def test_events_read_back_in_order_from_any_number(self, store: Store, other: Store, lease: Lease) -> None:
        commits = [samples.note(RUN), samples.tasks_added(RUN, ["a", "b"], after=1)]
        commits.append(samples.turn(RUN, 2, ended=0, begun=1))
        for commit in commits:
            store.append(lease, commit)
        written = [recorded for commit in commits for recorded in commit.events]
        assert [recorded.number for recorded in written] == [1, 2, 3, 4, 5]
        for after in range(7):
            assert list(other.read(RUN, after)) == written[after:]

    def test_many_events_read_back(self, store: Store, lease: Lease) -> None:
        one = samples.note(RUN).events[0].event
        events = samples.recorded(0, [one] * 1203)
        store.append(lease, Commit(after=0, events=events, rows=samples.note(RUN, 1202).rows))
        assert tuple(store.read(RUN)) == events
        assert tuple(store.read(RUN, 1000)) == events[1000:]

    @pytest.mark.parametrize("wrong", ["after", "stale", "gap", "twice", "answer", "answered"])
    def test_a_refused_commit_leaves_no_trace(self, store: Store, other: Store, lease: Lease, wrong: str) -> None:
        store.append(lease, samples.tasks_added(RUN, ["a", "b"], edges=[(1, 0)]))
        asked = store.ask(RUN, "pause", key="1")
        store.append(lease, samples.note(RUN, 1, answers=(Answer(request=asked.id, state="taken"),)))
        before = contents(other, RUN)
        good = samples.turn(RUN, 2, ended=0, begun=1)
        gone = msgspec.structs.replace(good.rows, gone_dependencies=(1,))
        good = msgspec.structs.replace(good, rows=gone)
        bad = {
            "after": msgspec.structs.replace(samples.turn(RUN, 3, ended=0, begun=1), rows=gone),
            "stale": msgspec.structs.replace(samples.turn(RUN, 1, ended=0, begun=1), rows=gone),
            "gap": msgspec.structs.replace(good, events=(*good.events[:1], good.events[2])),
            "twice": msgspec.structs.replace(good, events=(*good.events, good.events[2])),
            "answer": msgspec.structs.replace(good, answers=(Answer(request=99, state="taken"),)),
            "answered": msgspec.structs.replace(good, answers=(Answer(request=asked.id, state="refused"),)),
        }[wrong]
        with pytest.raises(StoreConflict):
            store.append(lease, bad)
        assert contents(store, RUN) == contents(other, RUN) == before
        store.append(lease, good)

    def test_a_commit_without_events_is_written_too(self, store: Store, lease: Lease) -> None:
        store.append(lease, samples.note(RUN))
        log = LogEntry(task=0, attempt=1, data=b"x")
        store.append(lease, Commit(after=1, events=(), rows=samples.note(RUN).rows, logs=(log,)))
        assert store.log(RUN, 0, 1) == b"x"
        assert len(list(store.read(RUN))) == 1

    def test_everything_is_there_when_the_store_is_opened_again(self, world: World, other: Store) -> None:
        with world.open() as store:
            store.claim(RUN, name="night", source="/plan.toml", fresh=False)
            lease = store.acquire(RUN, "me")
            store.append(lease, samples.tasks_added(RUN, [f"task-{n}" for n in range(3)], edges=[(1, 0), (2, 0)]))
            store.append(lease, samples.turn(RUN, 1, ended=0, begun=1))
            store.ask(RUN, "pause", key="1")
            before = contents(store, RUN)
        assert contents(other, RUN) == before
        with world.open() as again:
            assert contents(again, RUN) == before


class RowRules(StoreRules):
    """Rows replace those of the same number; the rest stays."""

    def test_rows_read_back_as_written(self, store: Store, other: Store, lease: Lease) -> None:
        added = samples.tasks_added(RUN, ["a", "b", "c"], edges=[(1, 0), (2, 0), (2, 1)])
        store.append(lease, added)
        assert other.runs() == [added.rows.run]
        assert other.tasks(RUN) == list(added.rows.tasks)
        assert other.dependencies(RUN) == list(added.rows.dependencies)
        assert other.attempts(RUN) == []

    def test_rows_are_replaced_one_by_one(self, store: Store, lease: Lease) -> None:
        store.append(lease, samples.tasks_added(RUN, ["task-0", "task-1", "task-2"]))
        turned = samples.turn(RUN, 1, ended=0, begun=1)
        store.append(lease, turned)
        assert [row.phase for row in store.tasks(RUN)] == [TaskPhase.DONE, TaskPhase.ACTIVE, TaskPhase.READY]
        assert store.runs() == [turned.rows.run]
        failed = samples.attempt_row(1, error=samples.FAILED)
        again = samples.attempt_row(1, 2)
        rows = msgspec.structs.replace(samples.note(RUN, 4).rows, attempts=(again, failed))
        store.append(lease, msgspec.structs.replace(samples.note(RUN, 4), rows=rows))
        assert store.attempts(RUN) == [turned.rows.attempts[0], failed, again]
        assert store.attempts(RUN, 1) == [failed, again]
        assert store.attempts(RUN, 2) == []

    def test_dependencies_of_a_task_can_be_replaced(self, store: Store, lease: Lease) -> None:
        store.append(lease, samples.tasks_added(RUN, ["a", "b", "c"], edges=[(1, 0), (2, 0), (2, 1)]))
        new = DependencyRow(task=2, needs=1, hard=True)
        rows = msgspec.structs.replace(samples.note(RUN, 1).rows, dependencies=(new,), gone_dependencies=(2,))
        store.append(lease, msgspec.structs.replace(samples.note(RUN, 1), rows=rows))
        assert store.dependencies(RUN) == [DependencyRow(task=1, needs=0), new]

    def test_ids_keep_their_type_and_every_character(self, store: Store, other: Store, lease: Lease) -> None:
        added = samples.tasks_added(RUN, ODD_IDS)
        laned = tuple(
            msgspec.structs.replace(row, lane=row.id, because=row.id, group="g", description=str(row.id), removed=True)
            for row in added.rows.tasks
        )
        commit = msgspec.structs.replace(added, rows=msgspec.structs.replace(added.rows, tasks=laned))
        store.append(lease, commit)
        found = other.tasks(RUN)
        assert found == list(laned)
        assert [(type(row.id), type(row.lane), type(row.because)) for row in found] == [(type(i),) * 3 for i in ODD_IDS]
        assert tuple(other.read(RUN)) == commit.events

    def test_name_and_source_stay_as_claimed(self, store: Store, lease: Lease) -> None:
        commit = samples.note(RUN)
        other_names = samples.run_row(RUN, 1, name="renamed", source="/other")
        rows = msgspec.structs.replace(commit.rows, run=other_names)
        store.append(lease, msgspec.structs.replace(commit, rows=rows))
        [row] = store.runs()
        assert (row.name, row.source, row.last_event) == ("night", "/plan.toml", 1)

    def test_runs_do_not_see_each_others_rows(self, store: Store, lease: Lease) -> None:
        store.claim("bbbbbbbbbb", name="day", source="/other.toml", fresh=False)
        store.append(lease, samples.tasks_added(RUN, ["a"]))
        assert store.tasks("bbbbbbbbbb") == []
        assert list(store.read("bbbbbbbbbb")) == []
        assert [row.id for row in store.runs()] == [RUN, "bbbbbbbbbb"]


class LogRules(StoreRules):
    """What was printed comes back byte by byte."""

    @pytest.mark.parametrize(
        "data",
        [b"\0", b"plain\n", b"\xff\xfe broken \xc3", b"abc" * 100_000, bytes(range(256)) * 20_000, b"\0" * 5_000_000],
        ids=["nul", "plain", "not-utf8", "long", "5MB", "5MB-of-nothing"],
    )
    def test_bytes_come_back(self, store: Store, other: Store, lease: Lease, data: bytes) -> None:
        store.append(lease, samples.note(RUN, logs=(LogEntry(task=3, attempt=2, data=data),)))
        assert other.log(RUN, 3, 2) == data
        assert other.log(RUN, 3, 1) is None

    def test_an_empty_log_reads_as_none(self, store: Store, lease: Lease) -> None:
        store.append(lease, samples.note(RUN, logs=(LogEntry(task=0, attempt=1, data=b""),)))
        assert store.log(RUN, 0, 1) is None

    def test_a_log_can_be_written_again(self, store: Store, lease: Lease) -> None:
        for after, data in enumerate((b"first", b"second" * 1000)):
            store.append(lease, samples.note(RUN, after, logs=(LogEntry(task=0, attempt=1, data=data),)))
            assert store.log(RUN, 0, 1) == data
