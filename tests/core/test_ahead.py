"""Which tasks are certain to be next: what may come between, and what is never sent ahead."""

from typing import Any

import msgspec
import pytest
from tests.core.bench import Bench, task

from budwood._core import events as e
from budwood._core.ahead import first_released, is_overtaken, may_look_ahead, put_back, take_next
from budwood._core.model import RunPhase, RunSettings, TaskId, TaskSpec
from budwood._core.schedule import pick, wake
from budwood._core.state import TaskState

ONE = RunSettings(slots=1, cpus=8.0)


def call(name: TaskId, *after: TaskId, priority: int = 0, **keys: Any) -> TaskSpec:
    """Make a task that calls a function."""
    return msgspec.structs.replace(task(name, *after, priority=priority), **{"run": None, "function": "m:f", **keys})


def ahead(bench: Bench) -> list[TaskId]:
    """Start what may start; return what may be sent ahead of it, in order."""
    bench.fill()
    state = bench.state
    sent: list[TaskState] = []
    while True:
        before = first_released(state, [*state.open.values(), *sent])
        found = take_next(state, bench.now_ms, before=before, sent=[each.number for each in sent])
        if found is None:
            break
        sent.append(found)
    put_back(state, sent)
    return [each.spec.id for each in sent]


def test_calls_that_nothing_can_overtake_are_certain() -> None:
    assert ahead(Bench(call("a"), call("b"), call("c", priority=1), settings=ONE)) == ["a", "b"]


def test_what_an_open_call_releases_comes_before_what_is_behind_it_in_the_queue() -> None:
    bench = Bench(call("a", priority=9), call("b", priority=5), call("c"), call("next", "a", priority=3), settings=ONE)
    assert ahead(bench) == ["b"]


def test_what_a_call_that_was_sent_ahead_releases_counts_too() -> None:
    bench = Bench(call("a", priority=10), call("b", priority=9), call("c"), call("next", "b", priority=3), settings=ONE)
    assert ahead(bench) == ["b"]


def test_a_soft_dependant_is_released_by_the_last_end_it_waits_for() -> None:
    bench = Bench(call("a"), call("b"), call("late", priority=5, prefer_after=("a",)), settings=ONE)
    assert ahead(bench) == []


def test_of_many_dependants_nobody_looks_which_is_first() -> None:
    few = [call(f"f{number}", "a", priority=-1) for number in range(8)]
    assert ahead(Bench(call("a", priority=1), call("b"), *few, settings=ONE)) == ["b"]
    many = [*few, call("f8", "a", priority=-1)]
    assert ahead(Bench(call("a", priority=1), call("b"), *many, settings=ONE)) == []


@pytest.mark.parametrize(
    "limits", [{"group": "g"}, {"cpus": 1.0}, {"timeout_s": 5.0}, {"run": "true", "function": None}]
)
def test_a_task_with_limits_or_a_command_waits_for_its_slot_and_nobody_passes_it(limits: dict[str, Any]) -> None:
    assert ahead(Bench(call("a"), call("b"), call("c", **limits), call("d"), settings=ONE)) == ["b"]


@pytest.mark.parametrize("limits", [{"group": "g"}, {"cpus": 1.0}])
def test_behind_an_attempt_that_holds_something_nothing_is_certain(limits: dict[str, Any]) -> None:
    assert ahead(Bench(call("a", **limits), call("b"), settings=ONE)) == []


def test_nobody_passes_one_that_waits_for_the_machine() -> None:
    bench = Bench(
        call("a", cpus=8.0), call("b"), call("large", cpus=8.0), call("c"), settings=RunSettings(slots=2, cpus=8.0)
    )
    assert bench.fill() == ["a", "b"]
    assert bench.fill() == []
    bench.end("a")
    assert take_next(bench.state, bench.now_ms, before=None, sent=()) is None


def test_a_task_in_back_off_is_not_sent() -> None:
    bench = Bench(call("a"), call("b"), settings=ONE)
    bench.fill()
    bench.state.task("b").not_before_ms = bench.now_ms + 1
    assert take_next(bench.state, bench.now_ms, before=None, sent=()) is None


def test_a_task_that_wakes_is_sent_once_though_it_never_left_the_queue() -> None:
    bench = Bench(call("a"), call("b"), call("c"), settings=ONE)
    bench.fill()
    bench.state.task("b").not_before_ms = bench.now_ms + 1
    assert take_next(bench.state, bench.now_ms, before=None, sent=()) is None
    wake(bench.state, bench.state.task("b").number)
    assert ahead(bench) == ["b", "c"]
    assert ahead(bench) == ["b", "c"]


def test_what_was_put_back_is_picked_as_ever() -> None:
    bench = Bench(call("a"), call("b"), call("c"), settings=ONE)
    assert ahead(bench) == ["b", "c"]
    bench.end("a")
    queued = pick(bench.state, bench.now_ms, slots=[0])
    assert queued is not None
    assert queued.task == "b"


def test_one_that_becomes_ready_later_overtakes_by_its_rank() -> None:
    bench = Bench(call("a"), call("b"), call("urgent", "a", priority=1), settings=ONE)
    bench.fill()
    sent = take_next(bench.state, bench.now_ms, before=None, sent=())
    assert sent is not None
    assert not is_overtaken(bench.state, sent)
    bench.end("a")
    assert is_overtaken(bench.state, sent)


@pytest.mark.parametrize("budget", ["budget_usd", "budget_tokens", "budget_time_s", "max_attempts"])
def test_a_budget_is_looked_at_before_each_call(budget: str) -> None:
    assert may_look_ahead(Bench(call("a"), settings=ONE).state)
    assert not may_look_ahead(Bench(call("a"), settings=msgspec.structs.replace(ONE, **{budget: 100})).state)


def test_a_run_that_is_paused_sends_nothing() -> None:
    bench = Bench(call("a"), settings=ONE)
    bench.record(e.RunPaused(kind="person", reason="paused by request"))
    assert bench.state.phase is RunPhase.PAUSED
    assert not may_look_ahead(bench.state)
