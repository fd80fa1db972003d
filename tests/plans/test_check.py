"""Warnings: allowed, and probably not meant."""

import pytest

from budwood._core.graph import build
from budwood._core.model import LaneSpec, RunSettings, TaskSpec
from budwood.plans import Plan, warnings
from budwood.settings import Machine


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
    assert warned(TaskSpec(id="p", prompt="x", agent=("claude",)), *tasks) == [
        "neither run, function nor prompt, so nothing to do: '0', '1', '2', '3', '4' and 2 more"
    ]


AGENTS = [TaskSpec(id=n, prompt="x", agent=("claude",)) for n in range(8)]


@pytest.mark.parametrize(
    ("machine", "said"),
    [
        (Machine(cores=4, memory_bytes=8_000_000_000), []),
        (Machine(cores=4), []),
        (
            Machine(cores=3, memory_bytes=8_000_000_000),
            ["8 agents at once on 3 cores: beyond 2 for each core they wait for each other"],
        ),
        (
            Machine(cores=8, memory_bytes=3_900_000_000),
            ["8 agents at once, and 3.9 GB of memory are free: each takes 0.5 to 1 GB, so at most 3 are safe"],
        ),
        (
            Machine(cores=8, memory_bytes=100_000_000),
            ["8 agents at once, and 0.1 GB of memory are free: each takes 0.5 to 1 GB, so at most 1 are safe"],
        ),
    ],
)
def test_more_agents_than_the_machine_has_room_for_are_named(machine: Machine, said: list[str]) -> None:
    plan = Plan(tasks=tuple(AGENTS))
    assert warnings(plan, build(plan.tasks, ()), RunSettings(slots=8), machine=machine) == said


def test_slots_that_no_agent_can_fill_are_no_reason_to_warn_of_memory() -> None:
    plan = Plan(tasks=(AGENTS[0], TaskSpec(id="c", run="x")))
    machine = Machine(cores=1, memory_bytes=1)
    assert warnings(plan, build(plan.tasks, ()), RunSettings(slots=64), machine=machine, slots_given=False) == []


def touching(name: str, *touches: str, after: tuple[str, ...] = (), lane: str | None = None) -> TaskSpec:
    return TaskSpec(id=name, run="x", touches=touches, after=after, lane=lane)


def test_tasks_that_may_change_the_same_files_are_named_with_their_patterns() -> None:
    assert warned(touching("a", "docs", "src/*.py"), touching("b", "src/api.py")) == [
        "tasks 'a' (src/*.py) and 'b' (src/api.py) may change the same files, and neither comes after the other: "
        "what they make may not fit together"
    ]


def test_what_comes_after_each_other_or_shares_a_lane_may_touch_the_same() -> None:
    between = TaskSpec(id="m", run="x", after=("a",))
    assert warned(touching("a", "src"), between, touching("b", "src", after=("m",))) == []
    lanes = (LaneSpec(id="l"), LaneSpec(id="k", after=("l",)))
    assert warned(touching("a", "src", lane="l"), touching("b", "src", lane="l"), lanes=lanes[:1]) == []
    assert warned(touching("a", "src", lane="l"), touching("b", "src", lane="k"), lanes=lanes) == []


def test_many_overlaps_are_counted_and_very_many_tasks_are_not_all_compared() -> None:
    told = warned(*(touching(f"t{n}", "src") for n in range(6)))
    assert len(told) == 6
    assert told[-1] == "and 10 more pairs of tasks that may change the same files"
    told = warned(*(touching(f"t{n}", f"src/{n}") for n in range(302)))
    assert told == ["302 tasks have touches, and only the first 300 were compared"]


def in_lane(name: str, *after: str, lane: str = "l") -> TaskSpec:
    return TaskSpec(id=name, prompt="x", agent=("claude",), lane=lane, after=after)


def test_a_lane_whose_order_may_differ_from_run_to_run_is_named() -> None:
    lanes = (LaneSpec(id="l"),)
    assert warned(in_lane("a"), in_lane("b", "a"), in_lane("c", "a"), lanes=lanes) == [
        "tasks 'b' and 'c' of lane 'l' do not come after each other: the first to be ready goes first, "
        "so another run may end with other files"
    ]
    outside = TaskSpec(id="o", run="x", after=("a",))
    assert warned(in_lane("a"), outside, in_lane("b", "o"), in_lane("c", "b"), lanes=lanes) == []


def test_a_lane_of_commands_has_no_files_that_could_differ() -> None:
    tasks = [TaskSpec(id=name, run="x", lane="l") for name in ("a", "b")]
    assert warned(*tasks, lanes=(LaneSpec(id="l"),)) == []


def test_money_that_agents_reserve_by_themselves_is_not_asked_for() -> None:
    assert warned(AGENTS[0], settings=RunSettings(budget_usd=5.0)) == []
