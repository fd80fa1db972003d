"""The state machine: an event goes in, state changes, commands come out. Nothing else ever changes a run's state.

`handle` is a function of state and event alone, so that folding the same events gives the same state on any machine.
Must not do I/O, read a clock or choose what to start (that is `schedule`).
"""

from collections.abc import Callable

from budwood._core import attempting, landing
from budwood._core import events as e
from budwood._core.candidates import reviewed, revised
from budwood._core.commands import CancelAttempt, Command
from budwood._core.events import Event, Recorded
from budwood._core.join import add_tasks, change_task
from budwood._core.model import PLAN, RunPhase, TaskPhase
from budwood._core.moves import illegal
from budwood._core.phases import let_in, move_run, move_task, want_again
from budwood._core.revise import revise_plan
from budwood._core.schedule import given_up, unpark_all
from budwood._core.state import CREATED, Queue, RunState
from budwood.errors import UnknownEvent


def handle(state: RunState, recorded: Recorded) -> list[Command]:
    """Apply one event; return what must be done once it is durable."""
    handler = _HANDLERS.get(type(recorded.event))
    if handler is None:
        raise UnknownEvent(f"event {recorded.number} is of a kind that the machine does not know")
    commands: list[Command] = []
    handler(state, recorded.event, recorded.at_ms, commands)
    state.number = recorded.number
    state.at_ms = recorded.at_ms
    return commands


def _run_created(state: RunState, event: e.RunCreated, at_ms: int, _: list[Command]) -> None:
    state.id, state.name, state.settings = event.run, event.name, event.settings
    state.source, state.cwd, state.made_by = event.source, event.cwd, event.made_by
    state.strategy, state.options = event.strategy, event.options
    state.task_defaults = event.task_defaults
    state.asking = event.strategy != PLAN
    state.created_at_ms = at_ms


def _tasks_added(state: RunState, event: e.TasksAdded, _at_ms: int, _: list[Command]) -> None:
    state.arriving.extend(event.tasks)
    state.lanes.extend(event.lanes)
    if not event.more:
        specs, state.arriving = state.arriving, []
        joined = add_tasks(state, specs, ask=event.ask)
        state.asks = event.ask + 1
        let_in(state, joined)


def _task_created(state: RunState, event: e.TaskCreated, _at_ms: int, _: list[Command]) -> None:
    joined = add_tasks(state, [event.task], ask=CREATED)
    if event.parent is not None:
        parent, [task] = state.task(event.parent), joined.added
        task.parent, task.depth = parent.number, parent.depth + 1
        parent.children += 1
    let_in(state, joined)


def _task_updated(state: RunState, event: e.TaskUpdated, _at_ms: int, _: list[Command]) -> None:
    task = state.task(event.task.id)
    if task.phase not in (TaskPhase.BLOCKED, TaskPhase.READY):
        raise illegal(f"task {task.spec.id}", task.phase, TaskPhase.BLOCKED)
    let_in(state, change_task(state, event.task))


def _asking_ended(state: RunState, event: e.AskingEnded, _at_ms: int, _: list[Command]) -> None:
    state.asking, state.stopped, state.end_reason = False, event.stopped, event.reason


def _candidates_judged(state: RunState, event: e.CandidatesJudged, _at_ms: int, _: list[Command]) -> None:
    for judgement in event.judgements:
        task = state.task(judgement.task)
        task.judgement = judgement
        state.touched.tasks.add(task.number)


def _plan_revised(state: RunState, event: e.PlanRevised, _at_ms: int, commands: list[Command]) -> None:
    move_run(state, RunPhase.ACTIVE)
    state.cancelled = False
    revised = revise_plan(state, event)
    landing.forget_joins(state)
    landing.forget_unwanted(state)
    state.queue = Queue()  # what is ready queues anew, below; who was parked may belong to another lane or group now
    for task in revised.running:
        assert task.attempt is not None
        commands.append(CancelAttempt(task.number, task.attempt.number))
    want_again(state, revised.wanted, restored=revised.restored)


def _settings_changed(state: RunState, event: e.SettingsChanged, _at_ms: int, _: list[Command]) -> None:
    verify, state.settings = state.settings.verify, event.settings
    if state.settings.verify != verify:
        landing.verify_anew(state)
    unpark_all(state)


def _driver_started(state: RunState, event: e.DriverStarted, at_ms: int, _: list[Command]) -> None:
    if state.drive_at_ms is not None:  # the driver before was killed: it lived at least until its last event
        state.driven_ms += max(0, state.at_ms - state.drive_at_ms)
    state.fence = event.fence
    state.drive_at_ms = at_ms


def _driver_stopped(state: RunState, _event: e.DriverStopped, at_ms: int, _: list[Command]) -> None:
    state.driven_ms += max(0, at_ms - (state.drive_at_ms or at_ms))
    state.drive_at_ms = None


def _noted(_state: RunState, _event: Event, _at_ms: int, _: list[Command]) -> None:
    """Nothing changes by it: it is there for people, or what it brought about has events of its own."""


def _tasks_skipped(state: RunState, event: e.TasksSkipped, _at_ms: int, _: list[Command]) -> None:
    in_line = False
    for task_id in event.tasks:
        task = state.task(task_id)
        in_line = in_line or task.phase is TaskPhase.READY
        task.because = event.because
        move_task(state, task, TaskPhase.SKIPPED)
    given_up(state, in_line=in_line)


def _tasks_cancelled(state: RunState, event: e.TasksCancelled, _at_ms: int, commands: list[Command]) -> None:
    if event.whole_run:
        state.cancelled = True
        state.asking, state.stopped = False, state.stopped or state.asking
    for task_id in event.tasks:
        task = state.task(task_id)
        task.cancelling = True
        if task.number in state.open and task.attempt is not None:
            commands.append(CancelAttempt(task.number, task.attempt.number))
        else:
            move_task(state, task, TaskPhase.CANCELLED)
    unpark_all(state)


def _tasks_retried(state: RunState, event: e.TasksRetried, _at_ms: int, _: list[Command]) -> None:
    move_run(state, RunPhase.ACTIVE)
    state.cancelled = False
    state.asking, state.stopped = state.asking or state.stopped, False
    want_again(state, (state.task(task_id) for task_id in event.tasks))
    landing.begin_again(state)


def _task_reviewed(state: RunState, event: e.TaskReviewed, _at_ms: int, _: list[Command]) -> None:
    reviewed(state.task(event.task), event)
    if event.decision == "rejected":
        landing.forget_unwanted(state)


def _task_revised(state: RunState, event: e.TaskRevised, _at_ms: int, _: list[Command]) -> None:
    task = state.task(event.task)
    move_run(state, RunPhase.ACTIVE)
    state.cancelled = False
    want_again(state, [task])
    landing.begin_again(state)
    revised(task, event.text)


def _merge_asked(state: RunState, event: e.MergeAsked, _at_ms: int, _: list[Command]) -> None:
    move_run(state, RunPhase.ACTIVE)
    landing.asked(state, event)


def _errand_added(state: RunState, event: e.ErrandAdded, _at_ms: int, _: list[Command]) -> None:
    move_run(state, RunPhase.ACTIVE)
    joined = add_tasks(state, [event.task], ask=state.asks)
    for task in joined.added:
        landing.errand_added(state, event, task.number)
        move_task(state, task, TaskPhase.READY)


def _lanes_joined(state: RunState, event: e.LanesJoined, _at_ms: int, _: list[Command]) -> None:
    landing.joined(state, event)


def _lanes_merged(state: RunState, event: e.LanesMerged, _at_ms: int, _: list[Command]) -> None:
    landing.merged(state, event)


def _target_moved(state: RunState, _event: e.TargetMoved, _at_ms: int, _: list[Command]) -> None:
    landing.target_moved(state)


def _merge_stopped(state: RunState, event: e.MergeStopped, _at_ms: int, _: list[Command]) -> None:
    landing.stopped(state, event)


def _lane_held(state: RunState, event: e.LaneHeld, _at_ms: int, _: list[Command]) -> None:
    landing.held(state, event)


def _lane_conflicted(state: RunState, event: e.LaneConflicted, _at_ms: int, _: list[Command]) -> None:
    landing.conflicted(state, event)


def _lane_resolved(state: RunState, event: e.LaneResolved, _at_ms: int, commands: list[Command]) -> None:
    landing.resolved(state, event, commands)


def _run_paused(state: RunState, event: e.RunPaused, _at_ms: int, _: list[Command]) -> None:
    move_run(state, RunPhase.PAUSED)
    state.pause_kind, state.reason = event.kind, event.reason


def _run_waiting(state: RunState, event: e.RunWaiting, _at_ms: int, _: list[Command]) -> None:
    move_run(state, RunPhase.WAITING)
    state.reason = event.reason


def _run_resumed(state: RunState, _event: e.RunResumed, _at_ms: int, _: list[Command]) -> None:
    move_run(state, RunPhase.ACTIVE)


def _run_ended(state: RunState, event: e.RunEnded, at_ms: int, _: list[Command]) -> None:
    move_run(state, RunPhase.CANCELLED if event.cancelled else RunPhase.FINISHED)
    state.pause_kind = state.reason = ""
    state.ended_at_ms = at_ms
    landing.ended(state)


def _external(state: RunState, event: e.External, _at_ms: int, _: list[Command]) -> None:
    where = "" if event.task is None else f" (task {event.task})"
    state.externals.append(f"{event.cause}{where}")


_HANDLERS: dict[type[Event], Callable[..., None]] = {
    e.RunCreated: _run_created,
    e.TasksAdded: _tasks_added,
    e.AskingEnded: _asking_ended,
    e.CandidatesJudged: _candidates_judged,
    e.WindowFull: _noted,
    e.PlanRevised: _plan_revised,
    e.SettingsChanged: _settings_changed,
    e.DriverStarted: _driver_started,
    e.DriverStopped: _driver_stopped,
    e.AttemptQueued: attempting.attempt_queued,
    e.AttemptStarted: attempting.attempt_started,
    e.AttemptScoring: attempting.attempt_scoring,
    e.AttemptAdopted: _noted,
    e.RunAccounted: _noted,
    e.DriverSeen: _noted,
    e.AttemptEnded: attempting.attempt_ended,
    e.TasksSkipped: _tasks_skipped,
    e.TasksCancelled: _tasks_cancelled,
    e.TasksRetried: _tasks_retried,
    e.TaskReviewed: _task_reviewed,
    e.TaskRevised: _task_revised,
    e.MergeAsked: _merge_asked,
    e.LanesJoined: _lanes_joined,
    e.ErrandAdded: _errand_added,
    e.LanesMerged: _lanes_merged,
    e.TargetMoved: _target_moved,
    e.MergeStopped: _merge_stopped,
    e.LaneHeld: _lane_held,
    e.LaneConflicted: _lane_conflicted,
    e.LaneResolved: _lane_resolved,
    e.TaskCreated: _task_created,
    e.TaskUpdated: _task_updated,
    e.QuestionAsked: attempting.question_asked,
    e.QuestionAnswered: attempting.question_answered,
    e.ProgressReported: attempting.progress_reported,
    e.RunPaused: _run_paused,
    e.RunWaiting: _run_waiting,
    e.RunResumed: _run_resumed,
    e.RunEnded: _run_ended,
    e.External: _external,
    e.RequestTaken: _noted,
    e.RequestRefused: _noted,
}
