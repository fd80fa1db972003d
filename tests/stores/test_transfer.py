"""Runs that move between stores: equal on arrival, driven in one place, whole or not at all."""

import io
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
import pytest

from budwood._core.events import AttemptEnded, AttemptQueued, AttemptStarted, Recorded, RunCreated, TasksAdded
from budwood._core.model import AttemptPhase, RunSettings, TaskSpec
from budwood._core.replay import fold_rows
from budwood._core.rows import Rows
from budwood.errors import LeaseHeld, StoreConflict, StoreError, StoreTooNew, UsageError
from budwood.stores import open_store
from budwood.stores.base import Answer, Commit, Lease, LogEntry, Store
from budwood.stores.intake import Intake
from budwood.stores.memory import MemoryStore
from budwood.stores.parts import Header, LogPart, as_log, decoded, encoded, parts_of
from budwood.stores.sqlite import SqliteStore
from budwood.stores.transfer import export_run, import_run, move_run
from budwood.testing import samples
from budwood.testing.store_world import RUN, contents

IDS = [f"task-{number}" for number in range(3)]


def fold(events: Iterable[Recorded]) -> Rows:
    """Stand in for the machine: rows of the run that `lived` makes, as far as its events go."""
    known = list(events)
    rows = samples.tasks_added(RUN, IDS, edges=[(1, 0), (2, 1)]).rows
    turned = samples.turn(RUN, 1, ended=0, begun=1).rows
    if len(known) < 4:
        return rows
    last = samples.run_row(RUN, len(known), tasks=turned.run.tasks)
    return msgspec.structs.replace(rows, run=last, tasks=(*turned.tasks, rows.tasks[2]), attempts=turned.attempts)


def lived(store: Store) -> Lease:
    """Drive a small run: events, rows, a log, one answered and one open request."""
    store.claim(RUN, name="night", source="/plan.toml", fresh=False)
    lease = store.acquire(RUN, "a driver")
    store.append(lease, samples.tasks_added(RUN, IDS, edges=[(1, 0), (2, 1)]))
    store.ask(RUN, "pause", body="now", key="one")
    store.ask(RUN, "retry", key="two")
    answer = Answer(request=1, state="refused", text="no")
    turned = msgspec.structs.replace(samples.turn(RUN, 1, ended=0, begun=1, log=b"\0\xff log"), answers=(answer,))
    store.append(lease, turned)
    return lease


def exported(store: Store) -> bytes:
    out = io.BytesIO()
    export_run(store, RUN, out)
    return out.getvalue()


BACKENDS = ["memory", "sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]


def opened(request: pytest.FixtureRequest, folder: Path) -> Store:
    """Open a new store of the kind that the fixture is to be."""
    match request.param:
        case "memory":
            return MemoryStore()
        case "sqlite":
            return SqliteStore(folder / "store.db")
        case _:
            return open_store(request.getfixturevalue("new_schema")())


@pytest.fixture(params=BACKENDS)
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    with opened(request, tmp_path / "a") as store:
        yield store


@pytest.fixture(params=BACKENDS)
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    with opened(request, tmp_path / "b") as store:
        yield store


def test_an_exported_run_arrives_equal(source: Store, target: Store) -> None:
    lived(source)
    text = exported(source)
    claim = import_run(target, io.BytesIO(text), fold=fold)
    assert (claim.run, claim.name, claim.created) == (RUN, "night", True)
    assert contents(target, RUN) == contents(source, RUN)
    assert exported(target) == text
    assert target.holder(RUN) is None


def test_importing_twice_changes_nothing(source: Store, target: Store) -> None:
    lived(source)
    text = exported(source)
    import_run(target, io.BytesIO(text), fold=fold)
    before = contents(target, RUN)
    assert not import_run(target, io.BytesIO(text), fold=fold).created
    assert contents(target, RUN) == before


def test_an_import_adds_what_is_missing(source: Store, target: Store) -> None:
    lease = lived(source)
    import_run(target, io.BytesIO(exported(source)), fold=fold)
    source.append(lease, samples.note(RUN, 4, logs=(LogEntry(task=0, attempt=1, data=b"longer"),)))
    import_run(target, io.BytesIO(exported(source)), fold=fold)
    assert list(target.read(RUN)) == list(source.read(RUN))
    assert target.log(RUN, 0, 1) == b"longer"
    assert target.dependencies(RUN) == source.dependencies(RUN)


def test_a_run_that_went_another_way_is_refused_and_nothing_changes(source: Store, target: Store) -> None:
    lease = lived(source)
    import_run(target, io.BytesIO(exported(source)), fold=fold)
    source.append(lease, samples.note(RUN, 4))
    theirs = target.acquire(RUN, "another")
    target.append(theirs, samples.tasks_added(RUN, IDS, after=4))
    target.release(theirs)
    before = contents(target, RUN)
    with pytest.raises(StoreConflict, match="event 5"):
        import_run(target, io.BytesIO(exported(source)), fold=fold)
    assert contents(target, RUN) == before
    assert target.holder(RUN) is None


def test_a_taken_name_gets_a_number(source: Store, target: Store) -> None:
    lived(source)
    target.claim("zzzzzzzzzz", name="night", source="/plan.toml", fresh=False)
    assert import_run(target, io.BytesIO(exported(source)), fold=fold).name == "night-2"


def test_the_fence_goes_on_where_it_was(source: Store, target: Store) -> None:
    source.release(lived(source))
    for _ in range(5):
        last = source.acquire(RUN, "a driver")
        source.release(last)
    move_run(source, target, RUN, fold=fold)
    assert target.acquire(RUN, "a driver").fence > last.fence


def test_a_moved_run_is_driven_in_the_target_only(source: Store, target: Store) -> None:
    source.release(lived(source))
    move_run(source, target, RUN, fold=fold)
    assert contents(target, RUN) == contents(source, RUN)
    with pytest.raises(StoreError, match="was moved to"):
        source.acquire(RUN, "a driver")
    target.append(target.acquire(RUN, "a driver"), samples.note(RUN, 4))


def test_a_run_can_be_moved_back(source: Store, target: Store) -> None:
    source.release(lived(source))
    move_run(source, target, RUN, fold=fold)
    lease = target.acquire(RUN, "a driver")
    target.append(lease, samples.note(RUN, 4))
    target.release(lease)
    move_run(target, source, RUN, fold=fold)
    assert list(source.read(RUN)) == list(target.read(RUN))
    home = source.acquire(RUN, "a driver")
    assert home.fence > lease.fence
    with pytest.raises(StoreError, match="was moved to"):
        target.acquire(RUN, "a driver")


def test_a_driven_run_is_not_moved(source: Store, target: Store) -> None:
    lived(source)
    with pytest.raises(LeaseHeld):
        move_run(source, target, RUN, fold=fold)
    assert target.runs() == []


def test_a_move_that_was_killed_before_the_source_was_retired_is_finished_by_the_next(
    source: Store, target: Store
) -> None:
    source.release(lived(source))
    # All that a killed move leaves: the target has everything, the source was not retired.
    import_run(target, encoded(parts_of(source, RUN)), fold=fold)
    lease = source.acquire(RUN, "a driver")
    source.append(lease, samples.note(RUN, 4))
    source.release(lease)
    move_run(source, target, RUN, fold=fold)
    assert list(target.read(RUN)) == list(source.read(RUN))
    with pytest.raises(StoreError, match="was moved to"):
        source.acquire(RUN, "a driver")


@pytest.mark.parametrize("source", BACKENDS[1:], indirect=True)
def test_a_run_is_not_moved_onto_itself(source: Store) -> None:
    with source.reopen() as one, source.reopen() as two:
        one.release(lived(one))
        with pytest.raises(UsageError, match="to itself"):
            move_run(one, two, RUN, fold=fold)


def test_a_file_that_is_cut_off_anywhere_leaves_nothing(source: Store, target: Store) -> None:
    lived(source)
    lines = exported(source).splitlines(keepends=True)
    for keep in range(len(lines)):
        with pytest.raises(UsageError):
            import_run(target, lines[:keep], fold=fold)
        with pytest.raises(UsageError, match=f"line {keep + 1} "):
            import_run(target, [*lines[:keep], lines[keep][: len(lines[keep]) // 2]], fold=fold)
    with pytest.raises(UsageError):
        import_run(target, [*lines, *lines], fold=fold)
    assert target.runs() == []


def test_a_newer_format_is_refused(target: Store) -> None:
    header = Header(format=99, run=RUN, name="night", source="", fence=1)
    with pytest.raises(StoreTooNew, match="99"):
        import_run(target, encoded([header]), fold=fold)


def test_a_header_cannot_name_a_path(target: Store, source: Store) -> None:
    lived(source)
    evil = exported(source).replace(RUN.encode(), b"../../up", 1)
    with pytest.raises(UsageError, match="cannot be a run's id"):
        import_run(target, evil.splitlines(), fold=fold)


def test_large_logs_are_written_on_the_way_and_the_run_appears_with_its_events(source: Store, target: Store) -> None:
    lived(source)
    header, *rest = decoded(exported(source).splitlines())
    assert isinstance(header, Header)
    intake = Intake(target, header, holder="import", flush_bytes=1)
    for part in rest:
        if isinstance(part, LogPart):
            intake.take_log(as_log(part))
    assert list(target.read(RUN)) == []
    assert target.log(RUN, 0, 1) == b"\0\xff log"
    intake.finish(list(source.read(RUN)), source.requests(RUN), fold=fold)
    intake.close()
    assert contents(target, RUN) == contents(source, RUN)


def test_a_live_run_is_exported_as_of_one_moment(source: Store) -> None:
    lease = lived(source)
    parts = parts_of(source, RUN)
    taken = [next(parts)]
    source.append(lease, samples.note(RUN, 4, answers=(Answer(request=2, state="taken"),)))
    taken.extend(parts)
    with MemoryStore() as target:
        import_run(target, encoded(taken), fold=fold)
        assert len(list(target.read(RUN))) == 4
        assert [request.id for request in target.pending(RUN)] == [2]


def test_the_machines_own_fold_gives_equal_rows_on_arrival(source: Store, target: Store) -> None:
    settings = RunSettings(seed=1, slots=2)
    specs = (TaskSpec(id=7, run="true"), TaskSpec(id="b", run=("true",), after=(7,)), TaskSpec(id="c", run="true"))
    events = samples.recorded(
        0,
        [
            RunCreated(run=RUN, name="night", settings=settings, source="/plan.toml"),
            TasksAdded(tasks=specs),
            AttemptQueued(task=7, attempt=1, slot=0),
            AttemptStarted(task=7, attempt=1, pid=9, began_at_ms=samples.AT_MS),
            AttemptEnded(task=7, attempt=1, phase=AttemptPhase.SUCCEEDED, exit_code=0),
            AttemptQueued(task="b", attempt=1, slot=0),
        ],
    )
    source.claim(RUN, name="night", source="/plan.toml", fresh=False)
    lease = source.acquire(RUN, "a driver")
    log = LogEntry(task=0, attempt=1, data=b"done\n")
    source.append(lease, Commit(after=0, events=events, rows=fold_rows(events), logs=(log,)))
    import_run(target, io.BytesIO(exported(source)), fold=fold_rows)
    assert contents(target, RUN) == contents(source, RUN)
    assert len(target.dependencies(RUN)) == 1
