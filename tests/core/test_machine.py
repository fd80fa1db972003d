"""The machine: the tables row by row, and events in, commands out."""

import itertools
from typing import TypeVar

import msgspec
import pytest
from tests.core.bench import BAD, CANCELLED, OK, Bench, bad, task

from budwood._core import events as e
from budwood._core.commands import CancelAttempt, ForgetAttempt, StartAttempt, WakeTask
from budwood._core.machine import handle
from budwood._core.model import AttemptPhase, RunPhase, TaskPhase
from budwood._core.moves import ATTEMPT_MOVES, RUN_MOVES, TASK_MOVES
from budwood._core.phases import move_task
from budwood._core.project import take_rows
from budwood._core.replay import fold
from budwood.errors import IllegalTransition, UnknownEvent

Phase = TypeVar("Phase", RunPhase, TaskPhase, AttemptPhase)

RUN_TABLE = """
    active paused, active waiting, active finished, active cancelled, waiting active, waiting paused, waiting finished,
    waiting cancelled, paused active, paused finished, paused cancelled, finished active, cancelled active
"""
TASK_TABLE = """
    blocked ready, blocked done, ready active, active done, active failed, active cancelled, active ready,
    active blocked, blocked skipped, ready skipped, blocked cancelled, ready cancelled, ready blocked, done blocked,
    failed blocked, cancelled blocked, skipped blocked
"""
ATTEMPT_TABLE = """
    queued running, queued succeeded, queued failed, queued timed_out, queued cancelled, queued abandoned,
    running succeeded, running failed, running timed_out, running cancelled, running abandoned,
    running needs_input, needs_input running,
    needs_input succeeded, needs_input failed, needs_input timed_out, needs_input cancelled, needs_input abandoned,
    queued scoring, running scoring, needs_input scoring,
    scoring succeeded, scoring failed, scoring timed_out, scoring cancelled, scoring abandoned
"""


def rows(table: str) -> set[tuple[str, str]]:
    return {(before, after) for before, after in (row.split() for row in table.split(","))}


def check_table(moves: frozenset[tuple[Phase, Phase]], phases: type[Phase], *, table: str) -> None:
    every = itertools.product(phases, phases)
    assert {(before.value, after.value) for before, after in every if (before, after) in moves} == rows(table)


def test_a_run_moves_by_its_table_and_no_other_way() -> None:
    check_table(RUN_MOVES, RunPhase, table=RUN_TABLE)


def test_a_task_moves_by_its_table_and_no_other_way() -> None:
    check_table(TASK_MOVES, TaskPhase, table=TASK_TABLE)


def test_an_attempt_moves_by_its_table_and_no_other_way() -> None:
    check_table(ATTEMPT_MOVES, AttemptPhase, table=ATTEMPT_TABLE)


@pytest.mark.parametrize("before", list(TaskPhase))
@pytest.mark.parametrize("after", list(TaskPhase))
def test_counts_follow_every_move_of_a_task(before: TaskPhase, after: TaskPhase) -> None:
    bench = Bench(task("a"), task("b"))
    moved = bench.of("a")
    bench.state.counts[moved.phase] -= 1
    bench.state.counts[before] += 1
    moved.phase = before
    if (before, after) in TASK_MOVES:
        move_task(bench.state, moved, after)
        assert moved.phase is after
        assert bench.state.counts[after] == 1 + (after is TaskPhase.READY)
    else:
        counts = dict(bench.state.counts)
        with pytest.raises(IllegalTransition, match="task a cannot go from"):
            move_task(bench.state, moved, after)
        assert (moved.phase, bench.state.counts) == (before, counts)
    assert bench.state.planned == 2


_ENDED = e.AttemptEnded(task="a", attempt=1, phase=AttemptPhase.SUCCEEDED)
REFUSED: dict[str, tuple[list[e.Event], e.Event, str]] = {
    "queued while blocked": (
        [],
        e.AttemptQueued(task="b", attempt=1, slot=0),
        "task b cannot go from blocked to active",
    ),
    "queued while active": (
        [e.AttemptQueued(task="a", attempt=1, slot=0)],
        e.AttemptQueued(task="a", attempt=2, slot=1),
        "task a cannot go from active to active",
    ),
    "started twice": (
        [e.AttemptQueued(task="a", attempt=1, slot=0), e.AttemptStarted(task="a", attempt=1, pid=7, began_at_ms=1)],
        e.AttemptStarted(task="a", attempt=1, pid=8, began_at_ms=2),
        "attempt 1 of task a cannot go from running to running",
    ),
    "ended twice": (
        [e.AttemptQueued(task="a", attempt=1, slot=0), _ENDED],
        _ENDED,
        "attempt 1 of task a cannot go from succeeded to succeeded",
    ),
    "skipped while active": (
        [e.AttemptQueued(task="a", attempt=1, slot=0)],
        e.TasksSkipped(tasks=("a",), because="b"),
        "task a cannot go from active to skipped",
    ),
    "cancelled when done": (
        [e.AttemptQueued(task="a", attempt=1, slot=0), _ENDED],
        e.TasksCancelled(tasks=("a",)),
        "task a cannot go from done to cancelled",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_in_a_table_is_refused_with_the_story_of_that_task(case: str) -> None:
    before, event, message = REFUSED[case]
    bench = Bench(task("a"), task("b", "a"), task("other"))
    for each in before:
        bench.apply(each)
    bench.apply(e.AttemptQueued(task="other", attempt=1, slot=5))
    past = [*bench.events(), e.Recorded(bench.state.number + 1, bench.now_ms, event)]
    with pytest.raises(IllegalTransition, match=message) as caught:
        fold(past)
    told = [line.split()[1] for line in caught.value.story]
    assert told == ["tasks_added", *(e.kind_of(each) for each in before), e.kind_of(event)]
    assert all(line in str(caught.value) for line in caught.value.story)


def test_a_run_that_moves_wrongly_tells_its_own_story() -> None:
    bench = Bench(task("a"))
    bench.apply(e.RunEnded())
    past = [*bench.events(), e.Recorded(bench.state.number + 1, 0, e.RunPaused(kind="person", reason="too late"))]
    with pytest.raises(IllegalTransition, match="run night cannot go from finished to paused") as caught:
        fold(past)
    told = [line.split()[1] for line in caught.value.story]
    assert told == ["run_created", "driver_started", "run_ended", "run_paused"]


def test_an_end_of_another_attempt_is_named() -> None:
    bench = Bench(task("a"))
    bench.fill()
    with pytest.raises(UnknownEvent, match="attempt 2 of task a is not the task's newest"):
        bench.apply(e.AttemptEnded(task="a", attempt=2, phase=AttemptPhase.SUCCEEDED))


def test_a_kind_that_the_machine_does_not_know_is_an_error_that_names_its_place() -> None:
    class Strange(msgspec.Struct, frozen=True):
        version: int = 1

    bench = Bench(task("a"))
    with pytest.raises(UnknownEvent, match="event 4 is of a kind"):
        handle(bench.state, e.Recorded(4, 0, Strange()))  # type: ignore[arg-type]


def test_queueing_starts_the_attempt() -> None:
    bench = Bench(task("a"), task("b"))
    assert bench.record(e.AttemptQueued(task="b", attempt=1, slot=3, gpus=())) == [StartAttempt(1, 1)]
    attempt = bench.of("b").attempt
    assert attempt is not None
    assert (attempt.phase, attempt.slot, attempt.queued_at_ms) == (AttemptPhase.QUEUED, 3, bench.now_ms)


def test_a_start_is_noted_and_demands_nothing() -> None:
    bench = Bench(task("a"))
    bench.fill()
    assert bench.apply(e.AttemptStarted(task="a", attempt=1, pid=77, began_at_ms=5)) == []
    attempt = bench.of("a").attempt
    assert attempt is not None
    assert (attempt.phase, attempt.pid, attempt.started_at_ms) == (AttemptPhase.RUNNING, 77, 5)


def test_an_end_is_forgotten_and_frees_what_waited_for_it() -> None:
    bench = Bench(task("a"), task("b", "a"), task("c", "a", "b"))
    bench.fill()
    assert bench.end("a") == [ForgetAttempt(0, 1)]
    assert bench.phases() == {"a": "done", "b": "ready", "c": "blocked"}
    assert (bench.of("b").waiting, bench.of("c").waiting) == (0, 1)


def test_an_end_may_come_before_anybody_heard_of_the_start() -> None:
    bench = Bench(task("a"))
    bench.fill()
    outcome = msgspec.structs.replace(OK, pid=9, began_at_ms=12)
    bench.end("a", outcome)
    [row] = take_rows(bench.state).attempts
    assert (row.phase, row.pid, row.started_at_ms) == (AttemptPhase.SUCCEEDED, 9, 12)


def test_another_try_waits_for_its_time_and_has_itself_woken() -> None:
    bench = Bench(task("a", retries=1))
    bench.fill()
    commands = bench.end("a", BAD)
    forget, wake = commands
    assert forget == ForgetAttempt(0, 1)
    assert isinstance(wake, WakeTask)
    assert bench.of("a").not_before_ms == bench.now_ms + round(wake.delay_s * 1000)
    assert bench.phases() == {"a": "ready"}
    assert bench.fill() == []


def test_another_try_without_back_off_is_not_woken() -> None:
    bench = Bench(task("a"))
    bench.fill()
    assert bench.end("a", bad("disk_full")) == [ForgetAttempt(0, 1)]
    assert bench.phases() == {"a": "ready"}


def test_cancelling_ends_what_runs_and_gives_up_what_does_not() -> None:
    bench = Bench(task("a"), task("b", "a"), task("c"))
    bench.record(e.AttemptQueued(task="a", attempt=1, slot=0))
    commands = bench.record(e.TasksCancelled(tasks=("a", "c")))
    assert commands == [CancelAttempt(0, 1)]
    assert bench.phases() == {"a": "active", "b": "blocked", "c": "cancelled"}
    bench.end("a", CANCELLED)
    assert bench.phases() == {"a": "cancelled", "b": "skipped", "c": "cancelled"}


def test_a_task_that_succeeds_while_it_is_cancelled_is_done() -> None:
    bench = Bench(task("a"))
    bench.fill()
    bench.record(e.TasksCancelled(tasks=("a",), whole_run=True))
    bench.end("a", OK)
    assert bench.phases() == {"a": "done"}


def test_tasks_of_a_large_plan_come_in_parts_and_count_only_when_all_are_there() -> None:
    bench = Bench()
    bench.record(e.TasksAdded(tasks=(task("b", "a"),), more=True))
    assert bench.rest() == []
    assert bench.state.planned == 0
    bench.record(e.TasksAdded(tasks=(task("a"),)))
    assert bench.phases() == {"b": "blocked", "a": "ready"}


def test_tasks_that_join_later_lengthen_paths_and_nothing_is_forgotten() -> None:
    bench = Bench(task("a"), task("b"), settings=msgspec.structs.replace(Bench().state.settings, slots=1))
    bench.fill()
    bench.record(e.TasksAdded(tasks=(task("c", "b"), task("d", "a"))))
    assert bench.of("b").path == 2
    bench.end("a")
    assert bench.fill() == ["b"]


def test_a_retry_makes_a_finished_run_active_and_forgets_old_tries() -> None:
    bench = Bench(task("a", retries=1), task("b", "a"))
    for _ in range(2):
        bench.fill()
        bench.end("a", BAD)
        bench.of("a").not_before_ms = 0
    bench.rest()
    assert bench.stands() is RunPhase.FINISHED
    bench.record(e.TasksRetried(tasks=("a", "b")))
    assert bench.stands() is RunPhase.ACTIVE
    assert bench.state.ended_at_ms is None
    assert bench.phases() == {"a": "ready", "b": "blocked"}
    again = bench.of("a")
    assert (again.tries, again.attempts, again.error_type) == (0, 2, "")
    assert bench.of("b").because is None


def test_a_cancelled_run_that_is_taken_up_again_can_end_well() -> None:
    bench = Bench(task("a"), task("b"))
    bench.record(e.AttemptQueued(task="a", attempt=1, slot=0))
    bench.record(e.TasksCancelled(tasks=("a", "b"), whole_run=True))
    bench.record(e.TasksRetried(tasks=("b",)))
    bench.end("a", OK)
    bench.fill()
    bench.end("b")
    assert bench.rest() == [e.RunEnded(cancelled=False)]
    assert bench.state.phase is RunPhase.FINISHED


def test_a_pause_keeps_its_reason_until_the_run_goes_on_or_ends() -> None:
    bench = Bench(task("a"))
    bench.fill()
    bench.record(e.RunPaused(kind="person", reason="lunch"))
    assert (bench.state.pause_kind, bench.state.reason) == ("person", "lunch")
    bench.record(e.RunResumed())
    assert (bench.state.pause_kind, bench.state.reason) == ("", "")
    bench.record(e.RunPaused(kind="person", reason="lunch"))
    bench.end("a")
    bench.rest()
    assert (bench.state.phase, bench.state.pause_kind, bench.state.reason) == (RunPhase.FINISHED, "", "")


def test_time_driven_is_kept_over_drivers_that_left_and_drivers_that_were_killed() -> None:
    bench = Bench(task("a"), task("b"))
    bench.now_ms += 1_000
    bench.fill()
    bench.now_ms += 500
    bench.record(e.DriverStopped(reason="asked to stop"))
    assert bench.state.driven_until(bench.now_ms + 99_000) == 1.5
    bench.now_ms += 60_000
    bench.record(e.DriverStarted(driver="two", fence=2))
    bench.now_ms += 2_000
    bench.end("a")  # its last sign; then it was killed
    bench.now_ms += 60_000
    bench.record(e.DriverStarted(driver="three", fence=3))
    bench.now_ms += 250
    assert bench.state.driven_until(bench.now_ms) == 3.75
    assert bench.state.fence == 3


def test_a_clock_that_was_set_back_takes_no_time_away() -> None:
    bench = Bench(task("a"))
    bench.now_ms -= 10_000
    bench.record(e.DriverStarted(driver="two", fence=2))
    assert bench.state.driven_until(bench.now_ms) == 0
    assert bench.state.driven_until(bench.now_ms - 5_000) == 0


def test_externals_are_listed_with_their_task() -> None:
    bench = Bench(task("a"))
    bench.record(e.External(cause="pause"))
    bench.record(e.External(cause="timeout", task="a", attempt=1))
    assert bench.state.externals == ["pause", "timeout (task a)"]
