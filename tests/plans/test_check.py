"""Warnings: allowed, and probably not meant."""

from budwood._core.graph import build
from budwood._core.model import LaneSpec, RunSettings, TaskSpec
from budwood.plans import Plan, warnings


def warned(*tasks: TaskSpec, lanes: tuple[LaneSpec, ...] = (), settings: RunSettings | None = None) -> list[str]:
    plan = Plan(tasks=tasks, lanes=lanes)
    return warnings(plan, build(tasks, lanes), settings or RunSettings())


def test_a_plan_without_anything_odd_has_no_warnings() -> None:
    assert warned(TaskSpec(id=1, run="x", group="g"), settings=RunSettings(groups={"g": 2})) == []


def test_a_lane_of_more_than_50_tasks_is_named_and_one_of_50_is_not() -> None:
    tasks = [TaskSpec(id=n, run="x", lane="long") for n in range(51)]
    assert warned(*tasks[:50], lanes=(LaneSpec(id="long"),)) == []
    assert warned(*tasks, lanes=(LaneSpec(id="long"),)) == [
        "lane 'long' has 51 tasks, one after another; beyond 50, split it"
    ]


def test_a_lane_without_tasks_is_named() -> None:
    assert warned(TaskSpec(id=1, run="x"), lanes=(LaneSpec(id="l"),)) == ["lane 'l' has no tasks"]


def test_slots_beyond_the_widest_batch_are_named() -> None:
    tasks = [TaskSpec(id=1, run="x"), TaskSpec(id=2, run="x"), TaskSpec(id=3, run="x", after=(1,))]
    assert warned(*tasks, settings=RunSettings(slots=2)) == []
    assert warned(*tasks, settings=RunSettings(slots=3)) == [
        "3 slots, but the widest batch has 2 tasks: more slots than that stay idle"
    ]


def test_dropped_wishes_are_named() -> None:
    tasks = [TaskSpec(id="a", run="x", prefer_after=("b",)), TaskSpec(id="b", run="x", after=("a",))]
    assert warned(*tasks) == ["task 'a' prefers to come after 'b', which would close a circle: that wish is dropped"]


def test_limits_of_groups_without_tasks_are_named() -> None:
    assert warned(TaskSpec(id=1, run="x"), settings=RunSettings(groups={"net": 2})) == [
        "groups has a limit for 'net', but no task is in that group"
    ]


def test_tasks_with_nothing_to_do_are_named() -> None:
    tasks = [TaskSpec(id=n) for n in range(7)]
    assert warned(TaskSpec(id="p", prompt="x"), *tasks) == [
        "neither run, function nor prompt, so nothing to do: '0', '1', '2', '3', '4' and 2 more"
    ]
