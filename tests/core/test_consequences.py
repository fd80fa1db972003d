"""What follows by rule: skips by name, strict, breaker, pauses, budgets, waiting, the end."""

import msgspec
import pytest
from tests.core.bench import BAD, CANCELLED, OK, Bench, bad, task

from budwood._core import events as e
from budwood._core.consequences import at_rest, consequences
from budwood._core.model import AttemptPhase, Errand, Outcome, RunPhase, RunSettings, TaskSpec, Usage
from budwood._core.schedule import wake


def skips(bench: Bench) -> dict[object, object]:
    return {each.spec.id: each.because for each in bench.state.tasks if each.because is not None}


def test_a_failure_skips_all_that_depends_on_it_by_name() -> None:
    bench = Bench(task("a"), task("b", "a"), task("c", "b"), task("d", "a", "free"), task("free"))
    bench.fill()
    bench.end("a", BAD)
    assert bench.phases() == {"a": "failed", "b": "skipped", "c": "skipped", "d": "skipped", "free": "active"}
    assert skips(bench) == {"b": "a", "c": "a", "d": "a"}


def test_a_task_that_will_be_tried_again_skips_nothing() -> None:
    bench = Bench(task("a", retries=1), task("b", "a"))
    bench.fill()
    bench.end("a", BAD)
    assert bench.phases() == {"a": "ready", "b": "blocked"}


def test_soft_dependants_go_on() -> None:
    bench = Bench(task("a"), task("b", prefer=["a"]), settings=RunSettings(slots=1))
    bench.fill()
    bench.end("a", BAD)
    assert bench.fill() == ["b"]


def test_a_cancelled_task_skips_what_depends_on_it() -> None:
    bench = Bench(task("a"), task("b", "a"), task("c", "b"))
    bench.record(e.TasksCancelled(tasks=("a",)))
    assert skips(bench) == {"b": "a", "c": "a"}


def test_the_number_zero_is_a_cause_like_any_other() -> None:
    bench = Bench(task(0), task(1, 0))
    bench.fill()
    bench.end(0, BAD)
    assert skips(bench) == {1: 0}
    bench.record(e.TasksAdded(tasks=(task(2, 1),)))
    assert skips(bench) == {1: 0, 2: 0}


def test_what_was_skipped_passes_its_first_cause_on() -> None:
    bench = Bench(task("a"), task("b", "a"))
    bench.fill()
    bench.end("a", BAD)
    assert consequences(bench.state, e.TasksRetried(tasks=())) == []
    bench.record(e.TasksAdded(tasks=(task("c", "b"),)))
    assert skips(bench) == {"b": "a", "c": "a"}


def test_a_retry_of_what_still_stands_on_a_failure_skips_it_again() -> None:
    bench = Bench(task("a"), task("b", "a"))
    bench.fill()
    bench.end("a", BAD)
    bench.record(e.TasksRetried(tasks=("b",)))
    assert bench.phases() == {"a": "failed", "b": "skipped"}


def test_strict_skips_all_that_has_not_begun_because_of_the_first_failure() -> None:
    strict = RunSettings(slots=2, strict=True)
    bench = Bench(task("a", priority=1), task("b", priority=1), task("c"), task("d", "c"), settings=strict)
    bench.fill()
    bench.end("a", BAD)
    assert bench.phases() == {"a": "failed", "b": "active", "c": "skipped", "d": "skipped"}
    assert skips(bench) == {"c": "a", "d": "a"}
    assert bench.state.externals == ["strict (task a)"]
    bench.end("b")
    assert bench.rest() == [e.RunEnded()]


def test_strict_says_nothing_when_nothing_is_left_to_skip() -> None:
    bench = Bench(task("a"), settings=RunSettings(slots=1, strict=True))
    bench.fill()
    bench.end("a", BAD)
    assert bench.state.externals == []


def test_strict_is_about_tasks_and_not_about_what_the_merge_queue_wants_done() -> None:
    bench = Bench(task("a"), settings=RunSettings(slots=1, strict=True))
    bench.record(
        e.ErrandAdded(task=msgspec.structs.replace(task("v", priority=1), errand=Errand(kind="verify", start="c")))
    )
    assert bench.fill() == ["v"]
    bench.end("v", BAD)
    assert bench.phases() == {"a": "ready", "v": "failed"}


def breaker_bench(*outcomes: str, breaker: int = 3) -> Bench:
    """End tasks 0, 1, 2, … in this order of tasks with these outcomes, all of them started before."""
    bench = Bench(*(task(n) for n in range(len(outcomes))), settings=RunSettings(slots=20, breaker=breaker))
    bench.fill()
    for number, outcome in enumerate(outcomes):
        bench.end(number, OK if outcome == "ok" else bad(outcome))
    return bench


def test_the_breaker_opens_at_set_up_faults_in_a_row() -> None:
    bench = breaker_bench("not_found", "stdin", "no_directory", "denied")
    assert bench.state.phase is RunPhase.PAUSED
    assert bench.state.pause_kind == "breaker"
    assert bench.state.reason == "3 tasks in a row could not even begin; last, task 2: it was no_directory"
    assert bench.state.externals == ["breaker"]


@pytest.mark.parametrize(
    "outcomes",
    [
        ("not_found", "not_found", "ok", "not_found"),
        ("exit", "exit", "exit", "exit", "exit"),
        ("not_found", "exit", "not_found", "exit"),
        ("not_found", "not_found"),
    ],
)
def test_the_breaker_stays_closed(outcomes: tuple[str, ...]) -> None:
    assert breaker_bench(*outcomes).state.phase is RunPhase.ACTIVE


def test_the_breaker_counts_in_task_order_whatever_order_they_end_in() -> None:
    bench = Bench(*(task(n) for n in range(6)), settings=RunSettings(slots=20, breaker=3))
    bench.fill()
    for number in (5, 1, 3):
        bench.end(number, bad("spawn"))
    assert bench.state.pause_kind == "breaker"
    bench = Bench(*(task(n) for n in range(6)), settings=RunSettings(slots=20, breaker=3))
    bench.fill()
    bench.end(2)
    for number in (5, 1, 3):
        bench.end(number, bad("spawn"))
    assert bench.state.phase is RunPhase.ACTIVE


def test_other_failures_between_set_up_faults_do_not_matter() -> None:
    assert breaker_bench("not_found", "exit", "not_found", "exit", "not_found").state.pause_kind == "breaker"


def test_a_task_that_will_be_tried_again_does_not_count_for_the_breaker() -> None:
    bench = Bench(*(task(n, retries=1) for n in range(3)), settings=RunSettings(slots=20, breaker=3))
    bench.fill()
    for number in range(3):
        bench.end(number, bad("not_found"))
    assert bench.state.phase is RunPhase.ACTIVE


def test_a_breaker_of_zero_never_opens() -> None:
    assert breaker_bench(*["not_found"] * 9, breaker=0).state.phase is RunPhase.ACTIVE


def test_tasks_that_the_plan_lost_do_not_count_for_the_breaker() -> None:
    bench = breaker_bench("not_found", "not_found", breaker=3)
    bench.record(e.PlanRevised(removed=(0, 1), added=(task("new"),)))
    bench.fill()
    bench.end("new", bad("not_found"))
    assert bench.state.phase is RunPhase.ACTIVE


@pytest.mark.parametrize("kind", ["disk_full", "io"])
def test_a_fault_of_the_machine_pauses_at_once(kind: str) -> None:
    bench = Bench(task("a"), task("b"))
    bench.fill()
    bench.end("a", bad(kind))
    assert (bench.state.phase, bench.state.pause_kind) == (RunPhase.PAUSED, "disk")
    assert bench.state.reason == f"task a: it was {kind}"
    assert bench.state.externals == [f"{kind} (task a)"]
    bench.end("b", bad(kind))  # the second one finds it paused
    assert bench.state.reason == f"task a: it was {kind}"
    assert bench.phases() == {"a": "ready", "b": "ready"}


@pytest.mark.parametrize(
    ("outcome", "cause"),
    [
        (Outcome(phase=AttemptPhase.TIMED_OUT, error_type="timeout"), "timeout (task a)"),
        (bad("memory"), "memory (task a)"),
    ],
)
def test_limits_that_ended_an_attempt_are_external(outcome: Outcome, cause: str) -> None:
    bench = Bench(task("a"))
    bench.fill()
    bench.end("a", outcome)
    assert bench.state.externals == [cause]


@pytest.mark.parametrize(
    ("limits", "spec", "reason"),
    [
        (RunSettings(slots=1, max_attempts=1), task("b"), "budget spent: 1 of 1 attempts"),
        (RunSettings(slots=1, budget_usd=1.0), task("b", usd=0.6), "budget spent: $0.50 of $1.00, and the next"),
        (RunSettings(slots=1, budget_usd=0.5), task("b"), "budget spent: $0.50 of $0.50"),
        (RunSettings(slots=1, budget_tokens=50), task("b"), "budget spent: 50 of 50 tokens"),
        (
            RunSettings(slots=1, budget_tokens=60, budget_usd=9.0),
            task("b", tokens=20),
            "budget spent: 50 of 60 tokens, and the next attempt would pass that",
        ),
        (RunSettings(slots=1, budget_time_s=5.0), task("b"), "budget spent: time: 6 of 5 s"),
    ],
)
def test_a_spent_budget_pauses_the_run(limits: RunSettings, spec: TaskSpec, reason: str) -> None:
    bench = Bench(task("a", usd=0.5, tokens=50, priority=1), spec, settings=limits)
    bench.fill()
    bench.now_ms += 6_000
    bench.end("a")
    assert bench.fill() == []
    bench.rest()
    assert (bench.state.phase, bench.state.pause_kind) == (RunPhase.PAUSED, "budget")
    assert bench.state.reason.startswith(reason)
    assert bench.state.externals == ["budget"]
    assert bench.rest() == []
    more = RunSettings(slots=1, max_attempts=9, budget_usd=9.0, budget_tokens=900, budget_time_s=900.0)
    bench.record(e.SettingsChanged(settings=more, changed=("all",)))
    bench.record(e.RunResumed())
    assert bench.fill() == ["b"]
    bench.end("b")
    assert bench.rest() == [e.RunEnded()]


def test_what_runs_may_finish_before_money_pauses_the_run() -> None:
    bench = Bench(task("a", usd=0.5), task("b", usd=0.6), settings=RunSettings(slots=2, budget_usd=1.0))
    assert bench.fill() == ["a"]
    assert bench.rest() == []
    bench.end("a", msgspec.structs.replace(OK, usage=Usage(cost_usd=0.1)))
    assert bench.fill() == ["b"]  # it cost less than was reserved


def test_time_pauses_while_attempts_run_and_they_may_finish() -> None:
    bench = Bench(task("a"), task("b"), settings=RunSettings(slots=1, budget_time_s=1.0))
    bench.fill()
    bench.now_ms += 1_000
    bench.rest()
    assert bench.state.phase is RunPhase.PAUSED
    bench.end("a")
    assert bench.phases() == {"a": "done", "b": "ready"}


def test_a_run_whose_last_task_spent_the_budget_is_finished() -> None:
    bench = Bench(task("a"), settings=RunSettings(slots=1, max_attempts=1, budget_time_s=0.001))
    bench.fill()
    bench.now_ms += 1_000
    bench.end("a")
    assert bench.rest() == [e.RunEnded()]


def test_a_long_back_off_with_nothing_else_to_do_is_said() -> None:
    bench = Bench(task("a", retries=1), task("b", retries=1), settings=RunSettings(slots=2, backoff_s=10.0))
    bench.fill()
    bench.end("a", BAD)
    assert bench.rest() == []  # b runs
    bench.end("b", BAD)
    until = min(bench.of(name).not_before_ms for name in "ab")
    assert bench.rest() == [e.RunWaiting(reason="ready tasks in back-off: 2", until_ms=until)]
    assert bench.stands() is RunPhase.WAITING
    assert bench.rest() == []
    first = 0 if bench.of("a").not_before_ms == until else 1
    wake(bench.state, first)
    assert len(bench.fill()) == 1
    assert bench.stands() is RunPhase.ACTIVE


def test_a_short_back_off_is_not_worth_an_event() -> None:
    bench = Bench(task("a", retries=1), settings=RunSettings(slots=2, backoff_s=0.01))
    bench.fill()
    bench.end("a", BAD)
    assert bench.rest() == []


def test_a_task_that_asks_for_more_than_there_is_pauses_the_run_instead_of_hanging_it() -> None:
    bench = Bench(task("a", cpus=4.0), task("b"), settings=RunSettings(slots=2, cpus=2.0))
    assert bench.fill() == ["b"]
    assert bench.rest() == []
    bench.end("b")
    assert bench.fill() == []
    bench.rest()
    assert (bench.state.phase, bench.state.pause_kind) == (RunPhase.PAUSED, "limits")
    assert "task a: it asks for 4 cpus" in bench.state.reason


def test_a_task_whose_time_has_come_and_who_was_not_woken_yet_pauses_nothing() -> None:
    bench = Bench(task("a", retries=1), settings=RunSettings(slots=2, backoff_s=0.1))
    bench.fill()
    bench.end("a", BAD)
    assert bench.fill() == []
    bench.now_ms = bench.of("a").not_before_ms
    assert bench.rest() == []


def test_the_last_end_ends_the_run() -> None:
    bench = Bench(task("a"), task("b", "a"))
    bench.fill()
    assert bench.rest() == []
    bench.end("a", BAD)
    assert bench.rest() == [e.RunEnded()]
    assert bench.state.phase is RunPhase.FINISHED
    assert bench.state.ended_at_ms == bench.now_ms
    assert bench.rest() == []


def test_an_empty_plan_is_finished() -> None:
    assert Bench().rest() == [e.RunEnded()]


def test_a_run_that_was_given_up_is_cancelled_when_nothing_runs_any_more() -> None:
    bench = Bench(task("a"), task("b"))
    bench.record(e.AttemptQueued(task="a", attempt=1, slot=0))
    bench.record(e.TasksCancelled(tasks=("a", "b"), whole_run=True))
    assert bench.rest() == []
    bench.end("a", CANCELLED)
    assert bench.rest() == [e.RunEnded(cancelled=True)]
    assert bench.state.phase is RunPhase.CANCELLED


def test_a_paused_run_ends_when_what_was_running_was_the_last() -> None:
    bench = Bench(task("a"))
    bench.fill()
    bench.record(e.RunPaused(kind="person", reason=""))
    bench.end("a")
    assert bench.rest() == [e.RunEnded()]


def test_nothing_follows_from_other_events() -> None:
    bench = Bench(task("a"))
    assert consequences(bench.state, e.RunResumed()) == []
    assert at_rest(bench.state, bench.now_ms) == []
