"""What an attempt's end means: success, another try, or failure."""

import msgspec
import pytest
from tests.core.bench import BAD, CANCELLED, LOST, OK, Bench, bad, task

from budwood._core import events as e
from budwood._core.judge import ENVIRONMENT, MAX_BACKOFF_S, MAX_LOST, judge
from budwood._core.model import AttemptPhase, Outcome, RunSettings, TaskPhase, Usage

TIMED_OUT = Outcome(phase=AttemptPhase.TIMED_OUT, error_type="timeout", message="stopped at its time limit after 1.0 s")


def judged(bench: Bench, outcome: Outcome) -> e.AttemptEnded:
    """Judge the open attempt at task a."""
    return judge(bench.state, bench.of("a"), outcome)


def running(*, retries: int = 0, seed: int = 7, backoff_s: float = 1.0) -> Bench:
    bench = Bench(task("a", retries=retries), settings=RunSettings(slots=1, seed=seed, backoff_s=backoff_s))
    bench.fill()
    return bench


def fail_again(bench: Bench) -> e.AttemptEnded:
    """Fail, wait, start again; return what was said of the failure."""
    event = judged(bench, BAD)
    bench.record(event)
    bench.of("a").not_before_ms = 0
    bench.state.queue.ready = [bench.of("a").rank]
    bench.fill()
    return event


@pytest.mark.parametrize(
    ("said", "believed"),
    [
        (Usage(cost_usd=0.5, tokens=7), Usage(cost_usd=0.5, tokens=7)),
        (Usage(cost_usd=0.0, tokens=0), Usage(cost_usd=0.0, tokens=0)),
        (Usage(cost_usd=-1.0, tokens=7, problem="odd"), Usage(tokens=7, problem="odd")),
        (Usage(cost_usd=float("inf"), tokens=-7), Usage()),
        (Usage(cost_usd=float("nan"), tokens=2**63), Usage()),
    ],
)
def test_what_nobody_can_have_used_is_unknown(said: Usage, believed: Usage) -> None:
    assert judged(running(), msgspec.structs.replace(OK, usage=said)).usage == believed


def test_success_has_no_error() -> None:
    event = judged(running(), msgspec.structs.replace(OK, pid=5, began_at_ms=9))
    assert event == e.AttemptEnded(task="a", attempt=1, phase=AttemptPhase.SUCCEEDED, exit_code=0, pid=5, began_at_ms=9)


@pytest.mark.parametrize("outcome", [BAD, TIMED_OUT, bad("memory"), bad("not_found")])
def test_a_failure_is_tried_again_as_often_as_the_task_allows(outcome: Outcome) -> None:
    bench = running(retries=1)
    first = judged(bench, outcome)
    assert first.counts
    assert first.error is not None
    assert (first.error.will_retry, first.error.attempt, first.error.max_retries) == (True, 1, 1)
    assert first.error.timed_out == (outcome is TIMED_OUT)
    fail_again(bench)
    last = judged(bench, outcome)
    assert last.error is not None
    assert (last.error.will_retry, last.error.attempt) == (False, 2)
    assert last.backoff_s == 0.0


def test_the_back_off_doubles_with_each_try_within_its_jitter() -> None:
    bench = running(retries=40)
    waits = [fail_again(bench).backoff_s for _ in range(12)]
    for tries, wait in enumerate(waits):
        base = min(2.0**tries, MAX_BACKOFF_S)
        assert 0.5 * base <= wait < 1.5 * base
    assert len({round(wait / min(2.0**tries, MAX_BACKOFF_S), 3) for tries, wait in enumerate(waits)}) > 8
    assert max(waits) < 1.5 * MAX_BACKOFF_S


def test_a_task_that_is_tried_for_ever_does_not_overflow() -> None:
    bench = running(retries=10_000)
    bench.of("a").tries = 5_000
    assert judged(bench, BAD).backoff_s < 1.5 * MAX_BACKOFF_S


def test_the_jitter_is_a_function_of_seed_task_and_try() -> None:
    same = [fail_again(running(retries=3)).backoff_s for _ in range(2)]
    assert same[0] == same[1]
    assert fail_again(running(retries=3, seed=8)).backoff_s != same[0]
    two = Bench(task("a", retries=1), task("b", retries=1))
    two.fill()
    waits = [judge(two.state, two.of(name), BAD).backoff_s for name in ("a", "b")]
    assert waits[0] != waits[1]


def test_lost_supervisors_do_not_advance_the_jitter() -> None:
    plain, disturbed = running(retries=2), running(retries=2)
    disturbed.end("a", LOST)
    disturbed.fill()
    assert judged(disturbed, BAD).backoff_s == judged(plain, BAD).backoff_s


def test_no_back_off_is_none() -> None:
    assert judged(running(retries=1, backoff_s=0.0), BAD).backoff_s == 0.0


def test_a_lost_supervisor_costs_the_task_no_try_until_it_happens_too_often() -> None:
    bench = running()
    for number in range(1, MAX_LOST):
        event = judged(bench, LOST)
        assert event.error is not None
        assert (event.counts, event.error.will_retry, event.backoff_s) == (False, True, 0.0)
        bench.record(event)
        assert (bench.of("a").tries, bench.of("a").lost) == (0, number)
        assert bench.fill() == ["a"]
    last = judged(bench, LOST)
    assert last.error is not None
    assert (last.counts, last.error.will_retry) == (True, False)
    bench.record(last)
    assert bench.of("a").phase is TaskPhase.FAILED


def test_the_last_loss_fails_even_a_task_that_has_tries_left() -> None:
    bench = running(retries=9)
    for _ in range(MAX_LOST):
        bench.end("a", LOST)
        bench.fill()
    assert bench.of("a").phase is TaskPhase.FAILED


@pytest.mark.parametrize("kind", sorted(ENVIRONMENT))
def test_a_fault_of_the_machine_does_not_count(kind: str) -> None:
    bench = running()
    for _ in range(5):
        event = judged(bench, bad(kind))
        assert event.error is not None
        assert (event.counts, event.error.will_retry) == (False, True)
        bench.record(event)
        assert bench.of("a").tries == 0
        bench.record(e.RunResumed())
        bench.fill()


def test_what_somebody_cancelled_is_not_tried_again() -> None:
    for outcome in (CANCELLED, BAD, LOST, bad("disk_full")):
        bench = running(retries=5)
        bench.record(e.TasksCancelled(tasks=("a",)))
        event = judged(bench, outcome)
        assert event.error is not None
        assert not event.error.will_retry
        assert event.phase is outcome.phase
        bench.record(event)
        assert bench.of("a").phase is TaskPhase.CANCELLED


def test_an_attempt_that_was_ended_though_nobody_cancelled_it_is_lost() -> None:
    """A machine that shuts down sends TERM to supervisors, and they end their attempts as cancelled."""
    bench = running()
    event = judged(bench, CANCELLED)
    assert event.error is not None
    assert (event.phase, event.counts, event.error.will_retry) == (AttemptPhase.ABANDONED, False, True)
    bench.record(event)
    assert bench.fill() == ["a"]
