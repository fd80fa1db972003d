"""How a drive begins: a new run's events, and what is different when an old one goes on."""

import pytest
from tests.core.bench import Bench, task

from budwood._core import events as e
from budwood._core.model import Errand, LaneSpec, RunSettings, TaskSpec
from budwood._core.state import RunState
from budwood.engine import strategist as module
from budwood.engine.opening import begin_run, changed_settings, go_on, revision
from budwood.errors import UsageError
from budwood.strategies import PlanStrategy

CREATED = e.RunCreated(run="r", name="night", settings=RunSettings(slots=2))
X = LaneSpec(id="x")


def test_a_new_run_begins_with_its_tasks() -> None:
    tasks = [task("a"), task("b", "a")]
    assert list(begin_run(CREATED, PlanStrategy(tasks, [X]))(RunState())) == [
        CREATED,
        e.TasksAdded(tasks=tuple(tasks), lanes=(X,)),
    ]


def test_a_plan_without_tasks_is_a_plan() -> None:
    assert list(begin_run(CREATED, PlanStrategy([]))(RunState())) == [CREATED, e.TasksAdded(tasks=())]


@pytest.mark.parametrize(("count", "sizes"), [(6, [3, 3]), (7, [3, 3, 1]), (3, [3])])
def test_a_large_plan_comes_in_parts(count: int, sizes: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_TASKS_PER_EVENT", 3)
    _, *parts = begin_run(CREATED, PlanStrategy([task(n) for n in range(count)], [X]))(RunState())
    added = [part for part in parts if isinstance(part, e.TasksAdded)]
    assert [len(part.tasks) for part in added] == sizes
    assert [part.more for part in added] == [True] * (len(sizes) - 1) + [False]
    assert [part.lanes for part in added] == [(X,)] + [()] * (len(sizes) - 1)


def test_going_on_as_before_records_nothing() -> None:
    bench = Bench(task("a"))
    assert list(go_on()(bench.state)) == []
    assert list(go_on(settings=bench.state.settings, plan=([task("a")], ()))(bench.state)) == []


def test_a_paused_run_is_resumed_unless_told_otherwise() -> None:
    bench = Bench(task("a"))
    bench.record(e.RunPaused(kind="person", reason=""))
    assert list(go_on()(bench.state)) == [e.RunResumed()]
    assert list(go_on(unpause=False)(bench.state)) == []


def test_changed_settings_are_named_and_only_those() -> None:
    bench = Bench(task("a"), settings=RunSettings(slots=2, seed=4))
    wanted = RunSettings(slots=5, seed=4, budget_usd=3.0)
    assert list(go_on(settings=wanted)(bench.state)) == [
        e.SettingsChanged(settings=wanted, changed=("slots", "budget_usd"))
    ]
    [changed] = go_on(changes={"slots": 7})(bench.state)
    assert isinstance(changed, e.SettingsChanged)
    assert changed.settings == RunSettings(slots=7, seed=4)
    assert changed_settings(wanted, wanted) == ()


def test_the_seed_cannot_be_changed() -> None:
    bench = Bench(task("a"), settings=RunSettings(seed=4))
    with pytest.raises(UsageError, match="run night has seed 4; a run keeps its seed") as caught:
        list(go_on(settings=RunSettings(seed=5))(bench.state))
    assert caught.value.hint is not None
    assert "--again" in caught.value.hint


def test_the_settings_change_before_the_plan_does_and_both_before_it_goes_on() -> None:
    bench = Bench(task("a"))
    bench.record(e.RunPaused(kind="person", reason=""))
    events = go_on(changes={"slots": 1}, plan=([task("b")], ()))(bench.state)
    assert [e.kind_of(event) for event in events] == ["settings_changed", "plan_revised", "run_resumed"]


def test_a_plan_that_made_a_paused_run_active_is_not_resumed_twice() -> None:
    bench = Bench(task("a"))
    bench.record(e.RunPaused(kind="person", reason=""))
    told = []
    for event in go_on(plan=([task("b")], ()))(bench.state):  # as the driver does: applied before the next is asked for
        bench.record(event)
        told.append(e.kind_of(event))
    assert told == ["plan_revised"]


def test_an_edit_is_told_apart_by_ids() -> None:
    bench = Bench(task("a"), task("b"), task(7), lanes=[X])
    wanted = [task("b", priority=3), task("c"), task(7)]
    assert revision(bench.state, wanted, [X]) == e.PlanRevised(
        added=(task("c"),), changed=(task("b", priority=3),), removed=("a",), lanes=(X,)
    )


def test_only_other_lanes_are_an_edit_too() -> None:
    bench = Bench(task("a"))
    assert revision(bench.state, [task("a")], [X]) == e.PlanRevised(lanes=(X,))


def test_the_order_of_tasks_is_no_edit() -> None:
    bench = Bench(task("a"), task("b"))
    assert revision(bench.state, [task("b"), task("a")], []) is None


def test_a_task_that_was_removed_is_new_when_it_comes_back() -> None:
    bench = Bench(task("a"), task("b"))
    bench.record(e.PlanRevised(removed=("a",)))
    assert revision(bench.state, [task("a"), task("b")], []) == e.PlanRevised(added=(task("a"),))


def test_an_id_that_the_merge_queue_has_given_away_is_refused_by_name() -> None:
    bench = Bench(task("a"))
    bench.record(e.ErrandAdded(task=TaskSpec(id="verify-1", run="t", errand=Errand(kind="verify", start="c"))))
    with pytest.raises(UsageError, match="run night has called a task of its merge queue 'verify-1'"):
        revision(bench.state, [task("a"), task("verify-1")], [])
