"""Scores in rows and views: a query finds the best, and stores of an earlier version have them too."""

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from tests.stores.ageing import WITHOUT_SCORES
from tests.support.searched import search

from budwood._core.events import Event
from budwood._core.machine import handle
from budwood._core.project import take_rows
from budwood._core.state import RunState
from budwood.stores import open_store
from budwood.stores.base import Commit, Store
from budwood.stores.postgres.migrate import migrations as postgres_steps
from budwood.stores.sqlite.migrate import migrations as sqlite_steps
from budwood.testing import samples
from budwood.testing.store_world import RUN

BEST = """
SELECT runs.name, tasks.task, tasks.score, tasks.gain
FROM tasks JOIN runs ON runs.id = tasks.run
WHERE tasks.gain = (SELECT max(other.gain) FROM tasks other WHERE other.run = tasks.run)
"""
"""As docs/reference/store.md has it."""
Do = Callable[[Sequence[str]], list[tuple[object, ...]]]


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(request.getfixturevalue("schema")) if request.param == "postgres" else str(tmp_path / "store.db")


@pytest.fixture
def do(place: str) -> Do:
    """Do as somebody with sqlite3 or psql would; return what the last statement found."""

    def in_sqlite(statements: Sequence[str]) -> list[tuple[object, ...]]:
        with closing(sqlite3.connect(place, isolation_level=None)) as connection:
            return [connection.execute(each).fetchall() for each in statements][-1]

    def in_postgres(statements: Sequence[str]) -> list[tuple[object, ...]]:
        with psycopg.connect(place, autocommit=True) as connection:
            cursors = [connection.execute(each) for each in statements]
            return cursors[-1].fetchall() if cursors[-1].description else []

    return in_postgres if "://" in place else in_sqlite


def write(store: Store, events: Sequence[Event], *, at_once: bool) -> None:
    """Write events as a driver does, with the rows that they change: in one commit, or in one for each."""
    store.claim(RUN, name="night", source="/plan.toml", fresh=False)
    recorded = samples.recorded(0, events)
    lease = store.acquire(RUN, "me")
    size, state = len(recorded) if at_once else 1, RunState()
    for start in range(0, len(recorded), size):
        part = recorded[start : start + size]
        for event in part:
            handle(state, event)
        store.append(lease, Commit(after=start, events=part, rows=take_rows(state)))
    store.release(lease)


@pytest.mark.parametrize("at_once", [True, False])
def test_a_query_finds_the_best(place: str, do: Do, at_once: bool) -> None:
    with open_store(place) as store:
        write(store, search(), at_once=at_once)
    assert do([BEST]) == [("night", "b", 4.0, 0.5)]
    assert [(task, score, _said(valid), gain) for task, score, valid, gain in do([TASKS])] == [
        ("root", 8.0, True, 0.0),
        ("a", 6.0, True, 0.25),
        ("b", 4.0, True, 0.5),
        ("c", 1.0, False, None),
        ("d", None, None, None),
    ]
    found = do(["SELECT task, number, score, valid FROM attempts WHERE task IN ('b', 'd') ORDER BY task, number"])
    assert [(*head, _said(valid)) for *head, valid in found] == [
        ("b", 1, 3.0, True),
        ("b", 2, 4.0, True),
        ("d", 1, None, False),
    ]


TASKS = "SELECT task, score, valid, gain FROM tasks ORDER BY number"


def _said(value: object) -> bool | None:
    return None if value is None else bool(value)


@pytest.mark.parametrize(
    "events",
    [
        search("min"),
        search("max"),
        search("max", root=0.0),
        search("max", root=-2.0),
        search("max", strategy="plan"),
        search("min", strategy="climb:HillClimb"),
    ],
    ids=["min", "max", "from 0", "from below 0", "a plan", "of one's own"],
)
def test_a_store_of_an_earlier_version_has_what_it_would_have_had(place: str, do: Do, events: list[Event]) -> None:
    with open_store(place) as store:
        write(store, events, at_once=True)
        before = store.tasks(RUN), store.attempts(RUN)
    assert any(row.valid for row in before[0])
    step = postgres_steps() if "://" in place else sqlite_steps()
    version = next(number for number, path in step.items() if path.name.endswith("_scores.sql")) - 1
    do([*WITHOUT_SCORES, f"UPDATE meta SET value = '{version}' WHERE name = 'schema'"])
    with open_store(place) as store:
        assert (store.tasks(RUN), store.attempts(RUN)) == before
    assert len(do([TASKS])) == 5


def test_a_plan_has_scores_and_no_gain(place: str, do: Do) -> None:
    with open_store(place) as store:
        write(store, search(strategy="plan"), at_once=True)
    assert [(score, gain) for _, score, _, gain in do([TASKS])] == [
        *((8.0, None), (6.0, None), (4.0, None), (1.0, None), (None, None))
    ]
