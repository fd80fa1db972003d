"""Strategies in a run: what they are told and when, answers that are kept, and what they may do wrong."""

import gc
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from random import Random
from typing import Literal

import msgspec
import pytest
from tests.engine.searching import Listed, Search, call, compute
from tests.engine.stage import RUN, Killed, Stage, task
from tests.strategies.climb import HillClimb, height

from budwood._core import events as e
from budwood._core.events import Event
from budwood._core.model import RunPhase, RunSettings, TaskPhase, TaskSpec
from budwood._core.replay import fold
from budwood._core.scores import Judgement
from budwood.engine.strategist import Strategist
from budwood.engine.verdict import Verdict
from budwood.engine.wanted import NewTask
from budwood.errors import UsageError
from budwood.stores.memory import MemoryStore
from budwood.strategies import PlanStrategy, Strategy, Told
from budwood.testing.executors import succeeded


def test_a_strategy_climbs_and_the_run_ends_when_it_wants_no_more() -> None:
    search, strategy = Search(), HillClimb(steps=12)
    verdict = search.drive(strategy)
    assert (verdict.phase, verdict.exit_code, verdict.tasks) == (RunPhase.FINISHED, 0, 12)
    assert strategy.best[0] > height(0.0)
    assert [event.ask for event in search.events() if isinstance(event, e.TasksAdded)] == list(range(12))
    assert [event for event in search.events() if isinstance(event, e.AskingEnded)] == [e.AskingEnded(asks=12)]


@pytest.mark.parametrize("slots", [1, 2, 8])
def test_decisions_are_the_same_at_any_number_of_slots(slots: int) -> None:
    reference = Search(slots=2)
    reference.drive(HillClimb(steps=30))
    search = Search(slots=slots)
    search.drive(HillClimb(steps=30))
    assert search.decisions() == reference.decisions()


def test_killed_at_any_point_it_goes_on_to_the_same_decisions() -> None:
    reference = Search()
    points: list[str] = []
    reference.drive(HillClimb(), probe=points.append)
    assert len(points) > 10
    for point in range(len(points)):
        search, seen = Search(), count()

        def probe(_: str, seen: Iterator[int] = seen, point: int = point) -> None:
            if next(seen) == point:
                raise Killed

        with pytest.raises(Killed):
            search.drive(HillClimb(), probe=probe)
        asked = [event for event in search.events() if isinstance(event, e.TasksAdded)]
        search.drive(HillClimb())
        assert search.decisions() == reference.decisions()
        assert [event for event in search.events() if isinstance(event, e.TasksAdded)][: len(asked)] == asked


def test_an_answer_knows_what_the_window_shows_and_never_more() -> None:
    strategy = Listed([call("a")], [call("b", "m:bad")], [call("c")], [call("d")], window=2)
    search = Search(slots=1)
    search.drive(strategy)
    assert strategy.knew == [[], [], ["a done"], ["a done", "b failed"], ["a done", "b failed", "c done"]]
    assert strategy.recorded == [0, 1, 2, 3]


def test_an_answer_of_several_tasks_is_known_as_a_whole() -> None:
    strategy = Listed([call("a"), call("b", "m:bad"), call("c", "m:good", "b")], [call("d")])
    Search(slots=8).drive(strategy)
    assert strategy.knew[1] == ["a done", "b failed", "c skipped"]


def test_slots_that_wait_because_of_the_window_are_spoken_of_once() -> None:
    search = Search(slots=8)
    search.drive(HillClimb(steps=9))
    assert [event for event in search.events() if isinstance(event, e.WindowFull)] == [
        e.WindowFull(ask=3, task="step-0")
    ]


def test_in_the_order_of_completion_nothing_waits() -> None:
    search = Search(slots=2, settings=RunSettings(seed=7, order="completion"))
    strategy = Listed([call("slow", "m:hold")], [call("b")], [call("c")])

    def on(event: Event) -> None:
        if isinstance(event, e.AttemptEnded) and event.task == "c":
            search.machine.end("0.1")

    search.drive(strategy, on=on)
    assert strategy.knew[:3] == [[], [], ["b done"]]
    assert not [event for event in search.events() if isinstance(event, e.WindowFull)]


def test_on_resume_a_strategy_hears_in_the_order_of_completion_what_it_heard_before() -> None:
    search = Search(slots=2, settings=RunSettings(seed=7, order="completion"))
    answers = ([call("a", "m:hold")], [call("b")], [call("c")], [call("d")])
    first, second = Listed(*answers), Listed(*answers)
    probe_at = [0]

    def probe(point: str) -> None:
        probe_at[0] += 1
        if len(first.knew) == 3 and point == "after commit":
            raise Killed

    with pytest.raises(Killed):
        search.drive(first, probe=probe)

    def on(event: Event) -> None:
        if isinstance(event, e.AttemptEnded) and event.task == "d":
            for work in search.machine.running:
                search.machine.end(work)

    search.drive(second, on=on)
    assert second.recorded[: len(first.recorded)] == first.recorded
    assert search.state().phase is RunPhase.FINISHED


def test_answers_are_kept_when_the_strategy_would_answer_otherwise_after_resume() -> None:
    class Fickle(HillClimb):
        def ask(self, number: int, random: Random) -> Sequence[TaskSpec]:
            return [call(f"other-{number}")] if number < self.steps else ()

    search = Search(settings=RunSettings(seed=7, max_attempts=4))
    assert search.drive(HillClimb(steps=6)).exit_code == 3
    before = [task.spec for task in search.state().tasks]
    search.drive(Fickle(steps=6), max_attempts=None)
    after = [task.spec for task in search.state().tasks]
    assert after[: len(before)] == before
    assert [str(spec.id) for spec in after[len(before) :]] == [f"other-{n}" for n in range(len(before), 6)]
    assert set(search.machine.ran.values()) == {1}


def test_a_strategy_that_asks_for_ever_is_stopped_and_can_be_given_more() -> None:
    search = Search(settings=RunSettings(seed=7, max_tasks=5))
    verdict = search.drive(HillClimb(steps=10**9))
    assert (verdict.exit_code, verdict.tasks) == (3, 5)
    assert verdict.reason == "budget spent: 5 of 5 tasks, and the strategy wants more"
    assert search.drive(HillClimb(steps=10**9), max_tasks=8).tasks == 8


class Endless(Listed):
    def ask(self, number: int, random: Random) -> Sequence[TaskSpec]:
        return (call(f"t{n}") for n in count())  # type: ignore[return-value]  # that is the point


def test_an_answer_that_never_ends_is_a_spent_budget() -> None:
    verdict = Search(settings=RunSettings(seed=7, max_tasks=50)).drive(Endless())
    assert (verdict.phase, verdict.exit_code, verdict.tasks) == (RunPhase.PAUSED, 3, 0)
    assert verdict.reason == "budget spent: 0 of 50 tasks, and answer 0 of the strategy has more than are left"


@pytest.mark.parametrize("order", ["task", "completion"])
def test_what_cannot_start_for_want_of_budget_is_not_asked_for_again_and_again(
    order: Literal["task", "completion"],
) -> None:
    search = Search(slots=4, settings=RunSettings(seed=7, order=order, max_attempts=5))
    verdict = search.drive(HillClimb(steps=1000))
    assert (verdict.exit_code, verdict.attempts) == (3, 5)
    assert verdict.tasks <= 6


def test_in_the_order_of_completion_no_more_is_asked_for_than_can_be_under_way() -> None:
    search = Search(slots=2, settings=RunSettings(seed=7, order="completion", cpus=2.0))
    tasks = [[msgspec.structs.replace(call(f"t{n}"), cpus=2.0)] for n in range(40)]
    most = 0

    def on(_: Event) -> None:
        nonlocal most
        state = search.state()
        most = max(most, state.planned - state.counts[TaskPhase.DONE])

    assert search.drive(Listed(*tasks), on=on).counts["done"] == 40
    assert most <= 3


def test_what_tasks_get_by_default_is_the_runs_and_the_same_after_a_kill() -> None:
    search, points = Search(), count()
    search.task_defaults = {"retries": 2, "env": {"A": "1"}, "timeout_s": 50.0}

    def probe(_: str) -> None:
        if next(points) == 8:
            raise Killed

    with pytest.raises(Killed):
        search.drive(HillClimb(), probe=probe)
    assert 0 < len(search.state().tasks) < 12
    search.drive(HillClimb())
    specs = [task.spec for task in search.state().tasks]
    assert {(spec.retries, spec.env["A"], spec.timeout_s) for spec in specs} == {(2, "1", 50.0)}


@pytest.mark.parametrize("how", ["strict", "cancel"])
def test_a_search_that_was_stopped_goes_on_after_a_retry(how: str) -> None:
    search = Search(slots=1, settings=RunSettings(seed=7, strict=how == "strict"))
    strategy = [[call("a")], [call("b", "m:bad" if how == "strict" else "m:hold")], [call("c")], [call("d")]]

    def on(event: Event) -> None:
        if how == "cancel" and isinstance(event, e.AttemptQueued) and event.task == "b":
            MemoryStore(search.world).ask(RUN, "cancel", key="once")

    assert search.drive(Listed(*strategy), on=on).tasks == 2
    search.machine.script = lambda work: succeeded()
    MemoryStore(search.world).ask(RUN, "retry", key="again")
    verdict = search.drive(Listed(*strategy))
    assert (verdict.phase, verdict.counts["done"], verdict.tasks) == (RunPhase.FINISHED, 4, 4)


def test_a_task_that_is_retried_before_the_strategy_heard_of_it_is_told_as_it_ends_then() -> None:
    search = Search(slots=1, settings=RunSettings(seed=7, max_attempts=1))
    answers = ([call("a", "m:bad")], [call("b")])
    search.drive(Listed(*answers, window=2))
    search.machine.script = lambda work: succeeded()
    MemoryStore(search.world).ask(RUN, "retry", key="again")
    strategy = Listed(*answers, window=2)
    search.drive(strategy, max_attempts=None)
    assert "a done" in strategy.told
    assert "a failed" not in strategy.told


@pytest.mark.parametrize(("name", "value"), [("window", 9), ("order", "completion"), ("seed", 8)])
def test_a_run_keeps_what_its_decisions_rest_on(name: str, value: object) -> None:
    search = Search(settings=RunSettings(seed=7, max_tasks=2))
    search.drive(HillClimb())
    drive: Callable[..., Verdict] = search.drive
    with pytest.raises(UsageError, match=f"a run keeps its {name}"):
        drive(HillClimb(), **{name: value})


@pytest.mark.parametrize(
    ("strategy", "reason"),
    [
        (Listed([call("a")], [call("a")]), "the strategy failed: there is already a task a"),
        (Listed([call("a", "m:good", "b")]), "the strategy failed: task 'a' has 'b' in after"),
        (Listed([TaskSpec(id="a")]), "the strategy failed: task a has neither a command nor a function"),
        (Listed(["a"]), "the strategy failed: an answer has strs in it, not tasks"),  # type: ignore[list-item]
        (Listed(None), "the strategy failed: ask(0) returned None, and no list of tasks; return [task, …]"),  # type: ignore[arg-type]
        (Listed(call("a")), "the strategy failed: ask(0) returned TaskSpec("),  # type: ignore[arg-type]
        (Listed([call("a", "m:good", "b"), call("b", "m:good", "a")]), "the strategy failed: Circular dependencies"),
    ],
)
def test_an_answer_that_cannot_be_used_pauses_the_run_and_leaves_no_trace(strategy: Strategy, reason: str) -> None:
    search = Search(settings=RunSettings(seed=7, max_tasks=50))
    verdict = search.drive(strategy)
    assert (verdict.phase, verdict.exit_code) == (RunPhase.PAUSED, 4)
    assert verdict.reason.startswith(reason)
    assert all(task.phase is TaskPhase.DONE for task in search.state().tasks)
    assert search.drive(HillClimb(steps=4)).phase is RunPhase.FINISHED  # mended, it goes on


@pytest.mark.parametrize("method", ["ask", "asked", "tell"])
@pytest.mark.parametrize("error", [KeyError("gone"), SystemExit(0), KeyboardInterrupt()])
def test_a_strategy_that_raises_pauses_the_run(method: str, error: BaseException) -> None:
    class Raising(HillClimb):
        pass

    def fail(*_: object) -> Sequence[TaskSpec]:
        raise error

    setattr(Raising, method, fail)
    Raising.__abstractmethods__ = frozenset()
    search = Search()
    verdict = search.drive(Raising())
    assert (verdict.phase, verdict.exit_code) == (RunPhase.PAUSED, 4)
    assert verdict.reason.startswith(f"the strategy failed: {type(error).__name__}: {error} (")
    assert search.drive(HillClimb()).phase is RunPhase.FINISHED


def test_a_run_cannot_go_on_without_its_strategy() -> None:
    search = Search(settings=RunSettings(seed=7, max_tasks=2))
    search.drive(HillClimb())
    with pytest.raises(UsageError, match="needs its strategy, m:Climb"):
        search.drive(None, max_tasks=50)


def test_a_cancelled_run_asks_no_more() -> None:
    search = Search()
    strategy = Listed([call("a", "m:hold")], [call("b")])

    def on(event: Event) -> None:
        if isinstance(event, e.AttemptQueued):
            MemoryStore(search.world).ask(RUN, "cancel", key="once")

    assert search.drive(strategy, on=on).phase is RunPhase.CANCELLED
    assert len(search.state().tasks) == 1


def test_under_strict_a_failure_ends_the_asking() -> None:
    search = Search(slots=1, settings=RunSettings(seed=7, strict=True))
    verdict = search.drive(Listed([call("a", "m:bad")], [call("b")]))
    assert (verdict.phase, verdict.exit_code, verdict.tasks) == (RunPhase.FINISHED, 1, 1)


def test_results_are_kept_only_for_a_strategy_that_may_be_asked_again() -> None:
    stage = Stage(*(task(number) for number in range(20)))
    stage.drive()
    strategist = Strategist(PlanStrategy(stage.tasks))
    fold(MemoryStore(stage.world).read(RUN), observer=strategist.see)
    kept = [each for each in gc.get_objects() if isinstance(each, Told) and each.task in stage.tasks]
    assert kept == []


def test_a_search_goes_on_when_only_some_of_what_was_cancelled_is_wanted_again() -> None:
    search = Search(slots=2)
    answers = ([call("a", "m:hold"), call("b", "m:hold")], [call("c")])

    def on(event: Event) -> None:
        if isinstance(event, e.AttemptQueued) and event.task == "b":
            MemoryStore(search.world).ask(RUN, "cancel", key="once")

    search.drive(Listed(*answers), on=on)
    search.machine.script = lambda work: succeeded()
    MemoryStore(search.world).ask(RUN, "retry", body='["a"]', key="again")
    strategy = Listed(*answers)
    assert search.drive(strategy).counts["done"] == 2
    assert strategy.told == ["a done", "b cancelled", "c done"]


def test_a_task_that_somebody_created_is_neither_waited_for_nor_told() -> None:
    search = Search(slots=2)
    search.machine.script = lambda work: None if work.call is None else compute(work)
    strategy = Listed([call("a")], [call("b")], [call("c")])
    body = msgspec.json.encode(NewTask(description="Beside", run="true")).decode()

    def on(event: Event) -> None:
        if isinstance(event, e.TasksAdded) and event.ask == 0:
            MemoryStore(search.world).ask(RUN, "create", body=body, key="once")
        if isinstance(event, e.AskingEnded):
            search.machine.end(f"{search.state().task('beside').number}.1")

    verdict = search.drive(strategy, on=on)
    assert (verdict.phase, verdict.tasks) == (RunPhase.FINISHED, 4)
    assert strategy.knew == [[], ["a done"], ["a done", "b done"], ["a done", "b done", "c done"]]
    assert strategy.recorded == [0, 1, 2]


class Stepping(Listed):
    """Judges what it was told, and wants to be resumed before its second answer."""

    def judged(self, number: int) -> Sequence[Judgement]:
        return [Judgement(task="a", decision="kept")] if number == 1 else ()

    def pauses(self, number: int) -> str:
        return "look at a" if number == 1 else ""


def test_a_strategy_may_pause_the_run_once_between_judging_and_going_on() -> None:
    search, strategy = Search(), Stepping([call("a")], [call("b")])
    verdict = search.drive(strategy)
    assert (verdict.phase, verdict.exit_code, search.state().reason) == (RunPhase.PAUSED, 4, "look at a")
    assert search.state().task("a").judgement == Judgement(task="a", decision="kept")
    search.drive(Stepping([call("a")], [call("b")]))
    assert search.state().phase is RunPhase.FINISHED
    assert [event.ask for event in search.events() if isinstance(event, e.CandidatesJudged)] == [1]
    assert [event.kind for event in search.events() if isinstance(event, e.RunPaused)] == ["step"]
