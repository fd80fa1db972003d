"""Which task starts next: the order, what holds one back, and that nobody waits for ever."""

import msgspec
import pytest
from tests.core.bench import AT_MS, BAD, Bench, task

from budwood._core import events as e
from budwood._core.model import RunPhase, RunSettings, TaskSpec, Usage
from budwood._core.schedule import pick, time_is_spent, waits_for, wake

ONE = RunSettings(slots=1, cpus=8.0)


def started_in_order(*tasks: TaskSpec) -> list[object]:
    """Run everything in one slot; return the order."""
    bench = Bench(*tasks, settings=ONE)
    order: list[object] = []
    while started := bench.fill():
        order += started
        bench.end(started[0])
    assert bench.rest() == [e.RunEnded()]
    return order


def test_without_wishes_the_numbers_decide() -> None:
    assert started_in_order(task("c"), task("a"), task("b")) == ["c", "a", "b"]


def test_the_longest_remaining_path_goes_first() -> None:
    assert started_in_order(task("short"), task("long"), task("x", "long"), task("y", "x")) == [
        "long",
        "x",
        "short",
        "y",
    ]


def test_priority_beats_the_path() -> None:
    assert started_in_order(task("long"), task("next", "long"), task("vip", priority=1))[0] == "vip"


def test_a_higher_priority_goes_first() -> None:
    assert started_in_order(task("low", priority=-1), task("mid"), task("high", priority=7)) == ["high", "mid", "low"]


def test_an_open_soft_dependency_beats_priority() -> None:
    assert started_in_order(task("late", prefer=["a"], priority=9), task("a"), task("b")) == ["a", "late", "b"]


def test_a_soft_dependency_never_leaves_a_slot_idle() -> None:
    bench = Bench(task("late", prefer=["a"]), task("a"))
    assert bench.fill() == ["a", "late"]


def test_a_soft_dependency_is_met_by_any_end() -> None:
    bench = Bench(task("late", prefer=["a"], priority=5), task("a", priority=9), task("b"), settings=ONE)
    assert bench.fill() == ["a"]
    bench.end("a", BAD)
    assert bench.fill() == ["late"]


def test_a_soft_dependency_that_is_wanted_again_counts_again() -> None:
    bench = Bench(task("late", prefer=["a"], priority=5), task("a", priority=9), task("b"), settings=ONE)
    bench.fill()
    bench.end("a", BAD)
    bench.record(e.TasksRetried(tasks=("a",)))
    assert bench.fill() == ["a"]
    bench.end("a")
    assert bench.fill() == ["late"]


def test_several_soft_dependencies_count_until_the_last_has_ended() -> None:
    bench = Bench(task("late", prefer=["a", "b"], priority=5), task("a"), task("b"), task("c"), settings=ONE)
    order = []
    while started := bench.fill():
        order += started
        bench.end(started[0])
    assert order == ["a", "b", "late", "c"]


def test_the_first_free_slot_is_given() -> None:
    bench = Bench(task("a"), task("b"))
    assert pick(bench.state, AT_MS, slots=[4, 6]) == e.AttemptQueued(task="a", attempt=1, slot=4)


@pytest.mark.parametrize("phase", [RunPhase.PAUSED, RunPhase.FINISHED, RunPhase.CANCELLED])
def test_nothing_starts_in_a_run_that_rests(phase: RunPhase) -> None:
    bench = Bench(task("a"))
    bench.state.phase = phase
    assert bench.pick() is None


def test_without_a_slot_nothing_is_chosen_and_nothing_is_lost() -> None:
    bench = Bench(task("a"))
    assert pick(bench.state, AT_MS, slots=[]) is None
    assert bench.fill() == ["a"]


def test_tasks_of_a_lane_never_run_at_the_same_time() -> None:
    bench = Bench(
        task("a1", lane="a"), task("a2", lane="a"), task("a3", lane="a"), task("b", lane="b"), lanes=["a", "b"]
    )
    assert bench.fill() == ["a1", "b"]
    assert waits_for(bench.state, bench.of("a2")) == "another task of lane a is running"
    bench.end("b")
    assert bench.fill() == []
    bench.end("a1")
    assert bench.fill() == ["a2"]
    bench.end("a2")
    assert bench.fill() == ["a3"]


def test_a_lane_given_as_number_and_as_text_is_one_lane() -> None:
    bench = Bench(task("a", lane=7), task("b", lane="7"), lanes=[7])
    assert bench.fill() == ["a"]
    bench.end("a")
    assert bench.fill() == ["b"]


def test_a_group_holds_as_many_as_it_is_told() -> None:
    settings = RunSettings(slots=8, groups={"net": 2})
    bench = Bench(*(task(n, group="net") for n in range(4)), task("free"), settings=settings)
    assert bench.fill() == [0, 1, "free"]
    assert waits_for(bench.state, bench.of(2)) == "group net is full (2 at once)"
    bench.end(1)
    assert bench.fill() == [2]
    bench.end(0)
    bench.end(2)
    assert bench.fill() == [3]


def test_a_group_without_a_limit_holds_one() -> None:
    bench = Bench(task("a", group="g"), task("b", group="g"))
    assert bench.fill() == ["a"]


def test_cpus_of_all_that_runs_never_pass_the_machines() -> None:
    settings = RunSettings(slots=8, cpus=4.0)
    bench = Bench(*(task(n, cpus=1.5) for n in range(4)), task("free"), settings=settings)
    assert bench.fill() == [0, 1, "free"]
    assert "3 of 4 cpus" in str(waits_for(bench.state, bench.of(2)))
    bench.end(0)
    assert bench.fill() == [2]


def test_a_large_task_is_not_overtaken_by_small_ones() -> None:
    settings = RunSettings(slots=8, cpus=4.0)
    small = [task(f"s{n}", cpus=1.0) for n in range(20)]
    bench = Bench(*small[:3], task("large", cpus=4.0), *small[3:], settings=settings)
    assert bench.fill() == ["s0", "s1", "s2"]  # one cpu is free, and is kept for it
    for name in ("s0", "s1"):
        bench.end(name)
        assert bench.fill() == []
    bench.end("s2")
    assert bench.fill() == ["large"]
    bench.end("large")
    assert bench.fill() == ["s3", "s4", "s5", "s6"]


def test_tasks_that_ask_for_no_cpus_pass_by_one_that_waits() -> None:
    bench = Bench(task("a", cpus=1.0), task("b", cpus=1.0), task("c"), settings=RunSettings(slots=8, cpus=1.0))
    assert bench.fill() == ["a", "c"]


def test_fractions_of_cpus_add_up_to_the_whole_and_back_to_nothing() -> None:
    settings = RunSettings(slots=40, cpus=1.0)
    parts = [0.1, 0.7, 0.2, 0.3, 0.3, 0.4, 0.6, 0.1, 0.3] * 4
    bench = Bench(*(task(n, cpus=part) for n, part in enumerate(parts)), task("all", cpus=1.0), settings=settings)
    ended = 0
    while started := bench.fill():
        assert bench.state.holdings.cpus < 1.0 + 1e-6
        for name in reversed(started):
            bench.end(name)
            ended += 1
    assert ended == len(parts) + 1
    assert Bench(task("a", cpus=0.1), task("b", cpus=0.2), settings=RunSettings(slots=2, cpus=0.3)).fill() == ["a", "b"]


def test_each_gpu_goes_to_one_task_and_comes_back() -> None:
    settings = RunSettings(slots=8, gpus=("0", "GPU-b", "2"))
    bench = Bench(task("a", gpus=2), task("b", gpus=1), task("c", gpus=2), settings=settings)
    first = bench.pick()
    assert first is not None
    assert first.gpus == ("0", "GPU-b")
    bench.record(first)
    second = bench.pick()
    assert second is not None
    assert second.gpus == ("2",)
    bench.record(second)
    assert bench.pick() is None
    assert "3 of 3 gpus" in str(waits_for(bench.state, bench.of("c")))
    bench.end("b")
    assert bench.pick() is None
    bench.end("a")
    third = bench.pick()
    assert third is not None
    assert third.gpus == ("0", "GPU-b")


def test_one_that_was_woken_and_cannot_use_its_place_lets_the_next_one_have_it() -> None:
    bench = Bench(
        task("group", group="g", priority=9),
        task("both", lane="a", group="g", priority=5),
        task("other", group="g"),
        lanes=["a"],
    )
    assert bench.fill() == ["group"]
    bench.record(e.TasksAdded(tasks=(task("lane", lane="a", priority=9),)))
    assert bench.fill() == ["lane"]
    bench.end("group")  # "both" may not have the place: by now its lane is taken
    assert bench.fill() == ["other"]
    bench.end("other")
    bench.end("lane")
    assert bench.fill() == ["both"]


def test_parked_tasks_that_were_given_up_do_not_come_back() -> None:
    bench = Bench(task("a", lane="x"), task("b", lane="x"), task("c", lane="x"), lanes=["x"])
    bench.fill()
    bench.record(e.TasksCancelled(tasks=("b",)))
    bench.end("a")
    assert bench.fill() == ["c"]


def test_changed_limits_let_everybody_look_again() -> None:
    bench = Bench(*(task(n, group="g") for n in range(3)), settings=RunSettings(slots=8, groups={"g": 1}))
    assert bench.fill() == [0]
    more = msgspec.structs.replace(bench.state.settings, groups={"g": 3})
    bench.record(e.SettingsChanged(settings=more, changed=("groups",)))
    assert bench.fill() == [1, 2]


def test_what_is_held_is_given_back_though_the_plan_says_something_else_by_then() -> None:
    settings = RunSettings(slots=8, cpus=4.0, gpus=("0",))
    before = task("a", lane="x", group="g", cpus=2.0, gpus=1, usd=1.0, tokens=9)
    bench = Bench(before, task("b", lane="x"), task("c", group="g"), lanes=["x", "y"], settings=settings)
    bench.fill()
    after = task("a", lane="y", group="h", cpus=1.0, usd=5.0, tokens=90)
    bench.record(e.PlanRevised(changed=(after,), lanes=tuple(bench.state.lanes)))
    bench.end("a")
    held = bench.state.holdings
    assert (held.lanes, held.groups, held.cpus, held.gpus, held.slots) == ({"x": 0}, {"g": 0}, 0.0, set(), set())
    assert (bench.state.spending.reserved_usd, bench.state.spending.reserved_tokens) == (0.0, 0)
    assert (bench.state.spending.cost_usd, bench.state.spending.tokens) == (1.0, 9)
    assert bench.fill() == ["b", "c"]


def test_a_task_in_back_off_starts_when_it_is_woken_and_not_before() -> None:
    bench = Bench(task("a", retries=1), task("b"))
    bench.fill()
    bench.end("a", BAD)
    assert bench.fill() == []
    wake(bench.state, 0)
    assert bench.fill() == ["a"]
    wake(bench.state, 0)  # too late: it runs already
    assert bench.fill() == []


def test_a_task_in_back_off_keeps_its_place_in_its_lane_free() -> None:
    bench = Bench(task("a", lane="x", retries=1), task("b", lane="x"), lanes=["x"])
    bench.fill()
    bench.end("a", BAD)
    assert bench.fill() == ["b"]
    wake(bench.state, 0)
    assert bench.fill() == []
    bench.end("b")
    assert bench.fill() == ["a"]


def test_a_place_that_came_to_a_task_in_back_off_goes_to_the_next_in_line() -> None:
    bench = Bench(task("v", group="g", priority=9), task("t", group="g", priority=5, retries=1), task("y", group="g"))
    assert bench.fill() == ["v"]
    wake(bench.state, 1)
    assert bench.fill() == []  # t stands in line twice now
    bench.end("v")
    assert bench.fill() == ["t"]
    bench.record(e.TasksAdded(tasks=(task("w", group="g", priority=9),)))
    assert bench.fill() == []
    bench.end("t", BAD)
    assert bench.fill() == ["w"]
    bench.end("w")
    assert bench.fill() == ["y"]


def test_one_who_waited_for_a_lane_and_left_it_does_not_keep_others_waiting() -> None:
    bench = Bench(
        task("h", group="g", priority=9),
        task("r", lane="y", priority=9),
        task("x", lane="y", priority=5),
        task("z", lane="y"),
        lanes=["y"],
    )
    assert bench.fill() == ["h", "r"]
    moved = task("x", group="g", priority=5)
    bench.record(e.PlanRevised(changed=(moved,), lanes=tuple(bench.state.lanes)))
    assert bench.fill() == []
    bench.end("r")
    assert bench.fill() == ["z"]


def test_stale_entries_start_nothing_twice() -> None:
    bench = Bench(task("late", prefer=["a", "b"]), task("a"), task("b"), settings=RunSettings(slots=2))
    assert bench.fill() == ["a", "b"]
    bench.end("a")
    bench.end("b")
    assert bench.fill() == ["late"]
    assert bench.pick() is None


@pytest.mark.parametrize(
    ("limits", "specs", "fits"),
    [
        (RunSettings(slots=9, max_attempts=2), [task(n) for n in range(4)], 2),
        (RunSettings(slots=9, budget_usd=1.0), [task(n, usd=0.4) for n in range(4)], 2),
        (RunSettings(slots=9, budget_usd=0.3), [task(n, usd=0.1) for n in range(4)], 3),
        (RunSettings(slots=9, budget_tokens=100), [task(n, tokens=50) for n in range(4)], 2),
        (RunSettings(slots=9, budget_tokens=100), [task(n, tokens=51) for n in range(4)], 1),
        (RunSettings(slots=9, budget_usd=0.0), [task(0)], 0),
    ],
)
def test_no_more_starts_than_the_budget_has_room_for(limits: RunSettings, specs: list[TaskSpec], fits: int) -> None:
    bench = Bench(*specs, settings=limits)
    assert len(bench.fill()) == fits
    assert bench.fill() == []  # and looking again changes nothing


def test_what_was_reserved_and_not_used_can_be_reserved_again() -> None:
    bench = Bench(*(task(n, usd=0.6) for n in range(3)), settings=RunSettings(slots=9, budget_usd=1.0))
    cheap = msgspec.structs.replace(BAD, usage=Usage(cost_usd=0.1))
    assert bench.fill() == [0]
    bench.end(0, cheap)
    assert bench.fill() == [1]
    bench.end(1)  # it does not say, so its reservation is spent
    assert bench.state.spending.cost_usd == pytest.approx(0.7)
    assert bench.fill() == []


def test_nothing_starts_when_the_time_is_over() -> None:
    bench = Bench(task("a"), task("b"), settings=RunSettings(slots=1, budget_time_s=10.0))
    bench.fill()
    bench.now_ms += 9_999
    assert not time_is_spent(bench.state, bench.now_ms)
    bench.now_ms += 1
    bench.end("a")
    assert bench.fill() == []


def test_of_many_that_wait_for_the_machine_only_the_first_is_looked_at_when_some_of_it_is_free() -> None:
    bench = Bench(*(task(n, cpus=1.0) for n in range(500)), settings=RunSettings(slots=8, cpus=2.0))
    assert bench.fill() == [0, 1]
    waiting = bench.state.queue.parked["machine"]
    for number in range(2, 100):
        bench.end(number - 2)
        assert len(waiting) == 500 - number
        assert bench.fill() == [number]
        assert bench.state.queue.ready == []


def test_one_that_waits_for_the_machine_and_is_given_up_makes_room_for_smaller_ones() -> None:
    settings = RunSettings(slots=8, cpus=4.0)
    bench = Bench(task("a", cpus=2.0), task("large", cpus=4.0), task("small", cpus=1.0), settings=settings)
    assert bench.fill() == ["a"]
    bench.record(e.TasksCancelled(tasks=("large",)))
    assert bench.fill() == ["small"]


def test_one_that_waits_for_the_machine_and_then_for_its_lane_does_not_hold_up_smaller_ones() -> None:
    settings = RunSettings(slots=8, cpus=4.0)
    bench = Bench(
        task("a", cpus=2.0),
        task("large", cpus=4.0, lane="x", priority=1),
        task("small", cpus=1.0),
        task("b", cpus=1.0, priority=2),
        lanes=["x"],
        settings=settings,
    )
    assert bench.fill() == ["b"]
    bench.record(e.TasksAdded(tasks=(task("lane", lane="x"),), ask=1))
    assert bench.fill() == ["lane"]
    bench.end("b")
    assert bench.fill() == ["a", "small"]


def test_skipping_what_never_stood_in_line_leaves_the_lines_alone() -> None:
    lane = [task(f"l{n}", lane="x") for n in range(50)]
    bench = Bench(task("a", priority=1), task("b", "a"), *lane, lanes=["x"], settings=RunSettings(slots=3))
    assert bench.fill() == ["a", "l0"]
    assert len(bench.state.queue.parked["lane x"]) == 49
    bench.end("a", BAD)
    assert bench.phases()["b"] == "skipped"
    assert len(bench.state.queue.parked["lane x"]) == 49
    bench.end("l0")
    assert bench.fill() == ["l1"]
