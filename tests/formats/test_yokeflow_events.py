"""Events in YokeFlow's words: batches start with their first task, end with their last, and end in order."""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.bench import BAD, OK, Bench, task

from budwood._core.events import PlanRevised, TasksCancelled, TasksRetried
from budwood._core.model import RunSettings, TaskPhase, TaskSpec
from budwood.formats.yokeflow_events import Translator


def told(bench: Bench) -> list[dict[str, object]]:
    """Translate all that happened."""
    translator = Translator()
    return [each for recorded in bench.events() for each in translator.translate(recorded)]


def words(bench: Bench) -> list[str]:
    """Write each in short."""
    return [f"{each['type']} {each.get('task_id', each['batch_number'])}" for each in told(bench)]


def finish(bench: Bench, *bad: str) -> None:
    """Run all to the end; some fail."""
    while started := bench.fill():
        for name in started:
            bench.end(name, BAD if name in bad else OK)
    bench.rest()


def test_what_is_said_of_a_small_run() -> None:
    bench = Bench(task("a", lane="e"), task("b", "a"), lanes=["e"])
    finish(bench)
    assert told(bench) == [
        {"type": "batch_started", "batch_number": 1, "task_count": 1},
        {"type": "task_started", "task_id": "a", "epic_id": "e", "batch_number": 1},
        {"type": "task_complete", "task_id": "a", "epic_id": "e", "batch_number": 1, "duration": 0.0, "cost": 0.0},
        {"type": "batch_complete", "batch_number": 1, "task_count": 1},
        {"type": "batch_started", "batch_number": 2, "task_count": 1},
        {"type": "task_started", "task_id": "b", "epic_id": None, "batch_number": 2},
        {"type": "task_complete", "task_id": "b", "epic_id": None, "batch_number": 2, "duration": 0.0, "cost": 0.0},
        {"type": "batch_complete", "batch_number": 2, "task_count": 1},
    ]


def test_a_retry_is_not_a_second_start_and_a_failure_is_no_completion() -> None:
    at_once = RunSettings(slots=8, cpus=8.0, backoff_s=0.0)
    bench = Bench(task("a", retries=1), task("b"), task("after-a", "a"), settings=at_once)
    finish(bench, "a")
    assert words(bench) == [
        "batch_started 1",
        "task_started a",
        "task_started b",
        "task_complete b",
        "task_failed a",
        "batch_complete 1",
    ]
    [failed] = [each for each in told(bench) if each["type"] == "task_failed"]
    assert failed["error"] == "exit"


def test_a_batch_in_which_nothing_ran_is_not_spoken_of_and_holds_up_no_other() -> None:
    bench = Bench(task("a"), task("b", "a"), task("c", "b"))
    bench.fill()
    bench.end("a", BAD)
    bench.rest()
    bench.record(TasksRetried(tasks=("a", "b", "c")))
    finish(bench)
    assert [word for word in words(bench) if word.startswith("batch")] == [
        "batch_started 1",
        "batch_complete 1",  # b and c were skipped
        *(f"{what} {number}" for number in (1, 2, 3) for what in ("batch_started", "batch_complete")),
    ]


def test_cancelled_tasks_end_their_batch() -> None:
    bench = Bench(task("a"), task("b"))
    bench.fill()
    bench.end("a")
    bench.record(TasksCancelled(tasks=("b",)))
    assert words(bench)[-1] == "task_complete a"
    bench.end("b", BAD)
    assert words(bench)[-1] == "batch_complete 1"


def test_an_edited_plan_has_other_batches() -> None:
    bench = Bench(task("a"), task("b", "a"))
    bench.fill()
    bench.end("a")
    bench.record(PlanRevised(added=(task("c"),), removed=("b",)))
    finish(bench)
    assert words(bench) == [
        "batch_started 1",
        "task_started a",
        "task_complete a",
        "batch_complete 1",
        "batch_started 1",
        "task_started c",
        "task_complete c",
        "batch_complete 1",
    ]


def test_a_task_that_the_plan_lost_is_in_no_batch() -> None:
    bench = Bench(task("a"), task("b", "a"), task("c", "b"), task("d", "c"), task("e", "d"))
    bench.fill()
    bench.end("a")
    bench.fill()
    bench.record(PlanRevised(changed=(task("b"), task("c"), task("e")), removed=("d",)))
    finish(bench)
    bench.end("b", BAD)  # the attempt of before the edit
    finish(bench)
    assert [word for word in words(bench) if "batch" in word] == [
        "batch_started 1",
        "batch_complete 1",
        "batch_started 2",
        "batch_started 1",
        "batch_complete 1",
    ]


@st.composite
def graphs(draw: st.DrawFn) -> list[TaskSpec]:
    """Draw tasks of which each may come after any before it."""
    tasks: list[TaskSpec] = []
    for number in range(draw(st.integers(1, 12))):
        after = draw(st.sets(st.integers(0, number - 1), max_size=3)) if number else set()
        tasks.append(task(number, *sorted(after), retries=draw(st.integers(0, 1))))
    return tasks


@settings(max_examples=60, deadline=None)
@given(graphs(), st.randoms(use_true_random=False))
def test_in_any_run_everything_is_said_once_and_in_its_place(tasks: list[TaskSpec], chance: Random) -> None:
    bench = Bench(*tasks, settings=RunSettings(slots=3, cpus=8.0, backoff_s=0.0))
    while bench.fill() or bench.state.open:
        name = chance.choice([each.spec.id for each in bench.state.open.values()])
        bench.end(name, BAD if chance.random() < 0.3 else OK)
    bench.rest()
    check(bench)


def check(bench: Bench) -> None:
    """See that starts come before ends, and that ends come once, in order, and after all that is said of a batch."""
    heard = told(bench)
    complete = [int(str(each["batch_number"])) for each in heard if each["type"] == "batch_complete"]
    begun = [int(str(each["batch_number"])) for each in heard if each["type"] == "batch_started"]
    assert complete == sorted(set(begun))
    assert len(begun) == len(complete)
    for number in begun:
        said = [each["type"] for each in heard if each["batch_number"] == number]
        assert (said[0], said[-1]) == ("batch_started", "batch_complete")
    done = {each.spec.id for each in bench.state.tasks if each.phase is TaskPhase.DONE}
    for kind, wanted in (
        ("task_started", {t.spec.id for t in bench.state.tasks if t.attempts}),
        ("task_complete", done),
    ):
        ids = [str(each["task_id"]) for each in heard if each["type"] == kind]
        assert sorted(ids) == sorted(map(str, wanted))
