"""The decision log: what was decided, and nothing that merely happened."""

import itertools

import msgspec
from tests.core.bench import BAD, CANCELLED, LOST, OK, Bench, bad, task

from budwood._core import events as e
from budwood._core.decisions import task_seed
from budwood._core.model import RunSettings, Usage


def lines(bench: Bench) -> list[dict[str, object]]:
    return [msgspec.json.decode(line) for line in bench.decisions()]


def test_there_is_one_line_per_task_in_task_order_with_all_that_was_decided() -> None:
    bench = Bench(task("b"), task("a", "b"), task(3, "a"))
    bench.fill()
    bench.end("b")
    bench.fill()
    bench.end("a", BAD)
    b, a, three = lines(bench)
    assert b == {
        "task": "b",
        "key": bench.of("b").key,
        "parents": [],
        "seed": task_seed(bench.state, bench.of("b"), 0),
        "tries": 1,
        "outcome": "ok",
        "because": None,
        "scores": {},
        "tree": None,
        "decision": "kept",
    }
    assert (a["outcome"], a["decision"], a["parents"]) == ("exit", "rejected", [b["key"]])
    assert (three["outcome"], three["decision"], three["because"], three["tries"]) == ("", "skipped", "a", 0)


def test_what_has_not_ended_is_open() -> None:
    assert [line["decision"] for line in lines(Bench(task("a"), task("b", "a")))] == ["open", "open"]


def test_what_the_plan_lost_is_not_in_it() -> None:
    bench = Bench(task("a"), task("b"))
    bench.record(e.PlanRevised(removed=("a",)))
    assert [line["task"] for line in lines(bench)] == ["b"]


def test_a_line_is_canonical() -> None:
    [line] = Bench(task("a")).decisions()
    assert msgspec.json.encode(msgspec.json.decode(line), order="sorted") == line


def test_times_attempts_slots_and_lost_supervisors_leave_no_trace() -> None:
    plain, disturbed = Bench(task("a", retries=1)), Bench(task("a", retries=1), settings=RunSettings(slots=3))
    plain.fill()
    plain.end("a")
    disturbed.now_ms += 99_999
    disturbed.record(e.AttemptQueued(task="a", attempt=1, slot=2))
    disturbed.end("a", LOST)
    disturbed.fill()
    disturbed.end("a", bad("disk_full"))
    disturbed.record(e.RunResumed())
    disturbed.fill()
    disturbed.end("a", msgspec.structs.replace(OK, usage=Usage(cost_usd=1.0)))
    assert disturbed.of("a").attempts == 3
    assert disturbed.decisions() == plain.decisions()


def test_the_cause_of_a_skip_does_not_depend_on_which_failure_came_first() -> None:
    logs = set()
    for order in itertools.permutations(["a", "b", "c"]):
        bench = Bench(
            task("a"), task("b"), task("c"), task("x", "c", "b"), task("y", "x", "a"), task("z", "x"), task("free")
        )
        bench.fill()
        for name in order:
            bench.end(name, BAD)
        bench.end("free")
        logs.add(b"\n".join(bench.decisions()))
    assert len(logs) == 1
    causes = {line["task"]: line["because"] for line in map(msgspec.json.decode, logs.pop().splitlines())}
    assert causes == {"a": None, "b": None, "c": None, "x": "b", "y": "a", "z": "b", "free": None}


def test_under_strict_the_cause_is_the_failure_that_ended_it_all() -> None:
    bench = Bench(task("a"), task("b"), settings=RunSettings(slots=1, strict=True))
    bench.fill()
    bench.end("a", BAD)
    assert lines(bench)[1]["because"] == "a"


def test_what_was_cancelled_says_so() -> None:
    bench = Bench(task("a"), task("b", "a"))
    bench.fill()
    bench.record(e.TasksCancelled(tasks=("a",)))
    bench.end("a", CANCELLED)
    a, b = lines(bench)
    assert (a["decision"], a["outcome"]) == ("cancelled", "cancelled")
    assert (b["decision"], b["because"]) == ("skipped", "a")


def test_each_try_has_a_seed_of_its_own_from_the_runs_seed() -> None:
    bench, other = Bench(task("a")), Bench(task("a"), settings=RunSettings(seed=9))
    seeds = [task_seed(bench.state, bench.of("a"), retry) for retry in range(3)]
    assert len({*seeds, task_seed(other.state, other.of("a"), 0)}) == 4
