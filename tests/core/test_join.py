"""Tasks that join a run a few at a time: the same as if all had come at once, and as if the graph were drawn anew."""

from collections.abc import Iterator
from copy import deepcopy
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.core.bench import BAD, OK, Bench, task
from tests.core.test_random_runs import check
from tests.core.test_replay import plain

from budwood._core import events as e
from budwood._core.model import LaneSpec, RunSettings, TaskPhase, TaskSpec
from budwood._core.project import take_rows
from budwood._core.replay import fold_rows
from budwood._core.revise import draw_graph
from budwood._core.state import RunState
from budwood.errors import PlanError

LANES = (LaneSpec(id="x"), LaneSpec(id="y", after=("z",)), LaneSpec(id="z"))
FREE, ORDERED = [None, None, "x"], [None, "x", "y", "z"]

Parts = list[tuple[TaskSpec, ...]]


@st.composite
def parts(draw: st.DrawFn, lanes: list[str | None]) -> Parts:
    """Draw parts of a plan: each task names any of its own part or an earlier one, and hard edges have no cycle."""
    sizes = draw(st.lists(st.integers(1, 5), min_size=1, max_size=6))
    found: Parts = []
    first = 0
    for size in sizes:
        rank = draw(st.permutations(range(size)))
        numbers = st.integers(0, first + size - 1)
        part = []
        for index in range(size):
            hard = [n for n in draw(st.lists(numbers, max_size=3)) if n < first or rank[n - first] < rank[index]]
            part.append(
                task(
                    first + index,
                    *hard,
                    prefer=draw(st.lists(numbers, max_size=3)),
                    priority=draw(st.integers(0, 1)),
                    lane=draw(st.sampled_from(lanes)),
                    cpus=draw(st.sampled_from([0.0, 1.0])),
                    retries=1,
                )
            )
        found.append(tuple(part))
        first += size
    return found


def without_asks(state: RunState) -> dict[str, object]:
    """Lay a state out, but for which answer brought which task and how many events that took."""
    fields = plain(state)
    for name in ("number", "asks"):
        del fields[name]
    for one in [*fields["tasks"], *fields["by_id"].values()]:
        del one["ask"]
    return fields


def all_rows(state: RunState) -> object:
    rows = take_rows(state)
    return rows.tasks, sorted(rows.dependencies, key=lambda row: (row.task, row.needs)), rows.gone_dependencies


def in_parts(given: Parts, *, slots: int = 1) -> Bench:
    bench = Bench(*given[0], lanes=LANES, settings=RunSettings(slots=slots, cpus=2.0, breaker=0))
    for ask, part in enumerate(given[1:], start=1):
        bench.record(e.TasksAdded(tasks=part, ask=ask))
    return bench


def started_in_order(bench: Bench) -> list[object]:
    order: list[object] = []
    while started := bench.fill():
        order += started
        for name in started:
            bench.end(name)
    return order


@pytest.mark.parametrize("lanes", [FREE, ORDERED], ids=["free lanes", "ordered lanes"])
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_parts_one_after_another_are_the_whole_at_once(lanes: list[str | None], data: st.DataObject) -> None:
    given_parts = data.draw(parts(lanes))
    try:
        whole = in_parts([tuple(spec for part in given_parts for spec in part)])
    except PlanError:
        assert lanes is ORDERED  # against the order of tasks
        return
    bit_by_bit = in_parts(given_parts)
    assert without_asks(bit_by_bit.state) == without_asks(whole.state)
    assert all_rows(bit_by_bit.state) == all_rows(whole.state)
    assert bit_by_bit.decisions() == whole.decisions()
    assert started_in_order(bit_by_bit) == started_in_order(whole)


def drawn_anew(state: RunState) -> RunState:
    again = deepcopy(state)
    draw_graph(again)
    return again


def edges_and_fields(state: RunState) -> object:
    tasks = [
        # The longest path from what is done matters to nobody.
        (t.key, t.batch, t.waiting, t.soft_waiting, t.path if t.phase is not TaskPhase.DONE else 0, t.phase)
        for t in state.tasks
    ]
    return tasks, state.hard, state.soft, state.dependants, state.soft_dependants


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(parts(FREE), st.integers(0, 2**32), st.integers(1, 4))
def test_parts_that_join_a_run_under_way_leave_it_as_if_all_were_drawn_anew(
    given_parts: Parts, seed: int, slots: int
) -> None:
    first, *rest = given_parts
    chance, asks = Random(seed), 0
    bench = in_parts([first], slots=slots)
    while bench.state.open or rest or bench.state.queue.ready:
        if rest and chance.random() < 0.4:
            asks += 1
            bench.record(e.TasksAdded(tasks=rest.pop(0), ask=asks))
            assert edges_and_fields(bench.state) == edges_and_fields(drawn_anew(bench.state))
        bench.fill()
        if bench.state.open:
            one = chance.choice(list(bench.state.open.values()))
            bench.end(one.spec.id, OK if chance.random() < 0.7 else BAD)
            one.not_before_ms = 0
            if one.phase is TaskPhase.READY:
                bench.state.queue.ready.append(one.rank)
                bench.state.queue.ready.sort()
        elif not rest:
            break
        check(bench.state)
    assert not {one.phase for one in bench.state.tasks} & {TaskPhase.READY, TaskPhase.BLOCKED, TaskPhase.ACTIVE}
    live = all_rows(bench.state)
    rows = fold_rows(bench.events())
    assert live == (rows.tasks, list(rows.dependencies), tuple(range(len(rows.tasks))))


def test_only_what_is_new_is_written() -> None:
    bench = Bench(task("a"), task("b", "a"), task("c"))
    take_rows(bench.state)
    bench.record(e.TasksAdded(tasks=(task("d", "b", "new"), task("new", prefer=["c"])), ask=1))
    rows = take_rows(bench.state)
    assert [(row.id, row.batch) for row in rows.tasks] == [("d", 3), ("new", 1)]
    assert [(row.task, row.needs, row.hard) for row in rows.dependencies] == [(3, 1, True), (3, 4, True), (4, 2, False)]
    assert rows.gone_dependencies == (3, 4)


def test_the_longest_path_grows_through_all_that_is_not_done_and_moves_what_is_ready() -> None:
    bench = Bench(task("done"), task("a", "done"), task("b"), task("c"), settings=RunSettings(slots=1))
    assert bench.fill() == ["done"]
    bench.end("done")
    bench.record(e.TasksAdded(tasks=(task("x", "c"), task("y", "x"), task("z", "a")), ask=1))
    assert [one.path for one in bench.state.tasks] == [2, 2, 1, 3, 2, 1, 1]
    assert bench.fill() == ["c"]
    bench.end("c")
    assert bench.fill() == ["a"]


def test_what_comes_after_a_failure_is_skipped_at_once_with_the_first_cause() -> None:
    bench = Bench(task("a"), task("b", "a"), task("c"))
    bench.fill()
    bench.end("a", BAD)
    bench.record(e.TasksAdded(tasks=(task("d", "b"), task("e", "d"), task("f", "c")), ask=1))
    assert bench.phases() == {
        "a": "failed",
        "b": "skipped",
        "c": "active",
        "d": "skipped",
        "e": "skipped",
        "f": "blocked",
    }
    assert {bench.of(name).because for name in ("b", "d", "e")} == {"a"}


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (task("a"), "task id 'a' is used 2 times: tasks number 1, 3"),
        (task("c", "aa"), "task 'c' has 'aa' in after, but no task is called that"),
        (task("c", "gone"), "task 'c' has 'gone' in after, but no task is called that"),
        (task("c", "c"), "task 'c' comes after itself"),
        (task("c", lane="w"), "task 'c' is in lane 'w', but no lane is called that"),
    ],
)
def test_what_cannot_join_is_refused_in_the_words_of_the_whole_graph(spec: TaskSpec, message: str) -> None:
    bench = Bench(task("a"), task("gone"), task("b", "a"), lanes=["x"])
    bench.record(e.PlanRevised(removed=("gone",), lanes=tuple(bench.state.lanes)))
    with pytest.raises(PlanError) as caught:
        bench.record(e.TasksAdded(tasks=(spec,), ask=1))
    assert caught.value.message == message


class Unwalked(list[Any]):
    """A list that is not to be walked through."""

    def __iter__(self) -> Iterator[Any]:
        raise AssertionError("somebody walks through all that there is")


class UnwalkedDict(dict[Any, Any]):
    """The same of a dict."""

    def __iter__(self) -> Iterator[Any]:
        raise AssertionError("somebody walks through all that there is")


def test_nobody_walks_through_the_run_to_add_a_task_start_it_and_end_it() -> None:
    bench = Bench(*(task(n) for n in range(20)), lanes=["x"], settings=RunSettings(slots=1, cpus=8.0))
    state = bench.state
    state.by_id = UnwalkedDict(state.by_id)
    state.tasks, state.hard, state.soft = Unwalked(state.tasks), Unwalked(state.hard), Unwalked(state.soft)
    state.dependants, state.soft_dependants = Unwalked(state.dependants), Unwalked(state.soft_dependants)
    assert bench.fill() == [0]
    bench.end(0)
    take_rows(state)
    for ask in range(1, 10):
        name = f"t{ask}"
        spec = task(name, ask, prefer=[0], priority=9, cpus=1.0, lane="x" if ask % 2 else None)
        bench.record(e.TasksAdded(tasks=(spec,), ask=ask))
        assert bench.fill() == [ask]
        bench.end(ask, BAD if ask == 5 else OK)
        assert bench.rest() == []
        if ask != 5:
            assert bench.fill() == [name]
            bench.end(name)
        assert len(take_rows(state).tasks) == 2
