"""The views, which have the same names, columns and meaning in SQLite and in PostgreSQL."""

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import psycopg
import pytest

from budwood._core.events import AttemptEnded
from budwood._core.model import AttemptError, AttemptPhase, TaskPhase
from budwood._core.rows import AttemptRow, Rows, TaskRow
from budwood.stores import open_store
from budwood.stores.base import Commit, Store
from budwood.testing import samples
from budwood.testing.samples import AT_MS
from budwood.testing.store_world import RUN

Ask = Callable[[str], list[tuple[object, ...]]]
RAISED = AttemptError(type="exception", message="ValueError: no\0pe ␛", attempt=1, max_retries=1, will_retry=True)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(request.getfixturevalue("schema")) if request.param == "postgres" else str(tmp_path / "store.db")


@pytest.fixture
def store(place: str) -> Iterator[Store]:
    with open_store(place) as store:
        store.claim(RUN, name="night", source="/plan.toml", fresh=False)
        yield store


@pytest.fixture
def ask(place: str, store: Store) -> Ask:
    """Ask as somebody with sqlite3 or psql would."""

    def in_sqlite(question: str) -> list[tuple[object, ...]]:
        with closing(sqlite3.connect(place)) as connection:
            return connection.execute(question).fetchall()

    def in_postgres(question: str) -> list[tuple[object, ...]]:
        with psycopg.connect(place) as connection:
            return connection.execute(question).fetchall()

    return in_postgres if "://" in place else in_sqlite


def task(number: int, phase: TaskPhase, *, batch: int, lane: str | None = None, cost_usd: float = 0.0) -> TaskRow:
    """A task's row; the fourth and later ones were taken out of the plan."""
    row = samples.task_row(number, f"t{number}", phase=phase)
    return msgspec.structs.replace(row, batch=batch, lane=lane, cost_usd=cost_usd, removed=number > 3)


def attempt(
    number: int, *, of: int, begin_s: int, wall_s: float, event: int | None = None, error: AttemptError | None = None
) -> AttemptRow:
    """The row of an attempt that ended."""
    row = samples.attempt_row(of, number, error=error, begun_at_ms=AT_MS + begin_s * 1000 - 1)
    finished = AT_MS + begin_s * 1000 + round(wall_s * 1000)
    return msgspec.structs.replace(row, finished_at_ms=finished, wall_s=wall_s, end_event=event)


@pytest.fixture
def lived(store: Store) -> Store:
    """Two lanes in three batches; one attempt failed and was mended, one task failed for good, one is ready."""
    ended = [
        AttemptEnded(task="t0", attempt=1, phase=AttemptPhase.SUCCEEDED, exit_code=0),
        AttemptEnded(task="t1", attempt=1, phase=AttemptPhase.FAILED, error=RAISED),
        AttemptEnded(
            task="t1",
            attempt=2,
            phase=AttemptPhase.SUCCEEDED,
            result=msgspec.Raw(b'{"a":[1,"\\u0000 \\ud83c\\udf31"]}'),
        ),
    ]
    rows = Rows(
        run=msgspec.structs.replace(
            samples.run_row(RUN, 3), created_at_ms=AT_MS, updated_at_ms=AT_MS + 9500, cost_usd=1.25
        ),
        tasks=(
            task(0, TaskPhase.DONE, batch=1, lane="a", cost_usd=0.25),
            task(1, TaskPhase.DONE, batch=1, lane="b", cost_usd=1.0),
            task(2, TaskPhase.FAILED, batch=2, lane="a"),
            task(3, TaskPhase.READY, batch=3),
            task(4, TaskPhase.FAILED, batch=3, lane="b"),
        ),
        attempts=(
            attempt(1, of=0, begin_s=0, wall_s=1.5, event=1),
            attempt(1, of=1, begin_s=1, wall_s=0.5, event=2, error=RAISED),
            attempt(2, of=1, begin_s=2, wall_s=2.0, event=3),
            attempt(1, of=2, begin_s=5, wall_s=0.25, error=samples.FAILED),
            attempt(1, of=4, begin_s=6, wall_s=9.0, error=samples.FAILED),
        ),
    )
    store.append(store.acquire(RUN, "me"), Commit(after=0, events=samples.recorded(0, ended), rows=rows))
    return store


def test_batches_are_over_when_all_of_their_tasks_are(lived: Store, ask: Ask) -> None:
    columns = "batch, tasks, done, failed, started_at, finished_at, duration_s, cost_usd"
    assert ask(f"SELECT {columns} FROM batches WHERE run = '{RUN}' ORDER BY batch") == [
        (1, 2, 2, 0, "2023-11-14T22:13:20.000Z", "2023-11-14T22:13:24.000Z", 4.0, 1.25),
        (2, 1, 0, 1, "2023-11-14T22:13:25.000Z", "2023-11-14T22:13:25.250Z", 0.25, 0.0),
        (3, 1, 0, 0, None, None, None, 0.0),
    ]


def test_what_is_in_no_batch_is_a_task_and_no_batch(store: Store, ask: Ask) -> None:
    rows = msgspec.structs.replace(samples.note(RUN).rows, tasks=(task(0, TaskPhase.DONE, batch=0),))
    store.append(store.acquire(RUN, "me"), Commit(after=0, events=samples.recorded(0, []), rows=rows))
    assert ask("SELECT task, batch FROM tasks") == [("t0", None)]
    assert ask("SELECT batch FROM batches") == []


def test_lanes_sum_up_what_their_tasks_took(lived: Store, ask: Ask) -> None:
    assert ask("SELECT lane, tasks, done, failed, skipped, duration_s, cost_usd FROM lanes ORDER BY lane") == [
        ("a", 2, 1, 1, 0, 1.75, 0.25),
        ("b", 1, 1, 0, 0, 2.5, 1.0),
    ]


def test_runs_and_tasks_have_a_duration_and_a_cost(lived: Store, ask: Ask) -> None:
    assert ask("SELECT name, duration_s, cost_usd FROM runs") == [("night", 9.5, 1.25)]
    assert ask("SELECT task, batch, duration_s, cost_usd FROM tasks WHERE NOT removed ORDER BY number") == [
        ("t0", 1, 1.5, 0.25),
        ("t1", 1, 2.5, 1.0),
        ("t2", 2, 0.25, 0.0),
        ("t3", 3, None, 0.0),
    ]
    assert ask("SELECT waited_s FROM attempts WHERE task = 't0'") == [(0.001,)]


def test_results_are_json_whatever_they_are(lived: Store, ask: Ask) -> None:
    first, second = ask("SELECT task, attempt, result, duration_s, cost_usd FROM results ORDER BY task")
    assert first == ("t0", 1, None, 1.5, 0.25)
    assert (second[:2], second[3:]) == (("t1", 2), (2.0, 0.25))
    found = json.loads(second[2]) if isinstance(second[2], str) else second[2]
    assert found in ({"a": [1, "\0 🌱"]}, {"a": [1, "␛0 🌱"]})


@pytest.mark.parametrize("result", ['"text"', "7", "null", "[]", "true", '"\\ud800 half"', '"\\\\u0000"', "1e400"])
def test_one_odd_result_breaks_no_query(store: Store, ask: Ask, result: str) -> None:
    ended = AttemptEnded(task="t0", attempt=1, phase=AttemptPhase.SUCCEEDED, result=msgspec.Raw(result.encode()))
    rows = msgspec.structs.replace(
        samples.note(RUN).rows,
        tasks=(task(0, TaskPhase.DONE, batch=1),),
        attempts=(attempt(1, of=0, begin_s=0, wall_s=1.0, event=1),),
    )
    store.append(store.acquire(RUN, "me"), Commit(after=0, events=samples.recorded(0, [ended]), rows=rows))
    [(found,)] = ask("SELECT CAST(result AS text) FROM results")
    half, whole = '"\\ud800 half"', '"\\ufffd half"'
    assert found in ((half, whole) if result == half else (result,))
    assert len(ask("SELECT body FROM events")) == 1


def test_failures_are_listed_also_when_a_retry_mended_them(lived: Store, ask: Ask) -> None:
    found = ask("SELECT task, attempt, error_type, error_message, finished_at FROM failures ORDER BY finished_at")
    assert [row[:3] for row in found] == [("t1", 1, "exception"), ("t2", 1, "exit"), ("t4", 1, "exit")]
    # Neither has a NUL in text: SQLite ends there, PostgreSQL shows where it was.
    assert found[0][3] in ("ValueError: no", "ValueError: no␛0pe ␛␛")
    assert found[1][3:] == ("exit code 1", "2023-11-14T22:13:25.250Z")


def test_rows_with_a_nul_come_back_as_they_were(lived: Store) -> None:
    assert [row.error for row in lived.attempts(RUN, 1)] == [RAISED, None]
