"""The state machine: an event goes in, state changes, commands come out. Nothing else ever changes a run's state.

`handle` is a function of state and event alone, so that folding the same events gives the same state on any machine.
Knows the tables in `moves`; must not do I/O, read a clock or choose what to start (that is `schedule`).
"""

from collections.abc import Callable, Iterable
from heapq import heappush

from budwood._core import events as e
from budwood._core import landing
from budwood._core.candidates import remark, rest_account, reviewed, revised, take_in
from budwood._core.commands import CancelAttempt, Command, ForgetAttempt, StartAttempt, WakeTask
from budwood._core.events import Event, Recorded
from budwood._core.join import Joined, add_tasks, change_task
from budwood._core.model import ENDED_TASK, PLAN, AttemptPhase, RunPhase, TaskPhase
from budwood._core.moves import ATTEMPT_MOVES, RUN_MOVES, TASK_MOVES, illegal
from budwood._core.reserve import reserve_of
from budwood._core.revise import revise_plan
from budwood._core.schedule import given_up, released, unpark_all
from budwood._core.speaking import asked, progressed, replied
from budwood._core.state import CREATED, AttemptState, Ended, Queue, RunState, TaskState
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


def move_task(state: RunState, task: TaskState, phase: TaskPhase) -> None:
    """Change a task's phase by the table, and what hangs on it: counts, the ready queue, dependants."""
    before = task.phase
    if (before, phase) not in TASK_MOVES:
        raise illegal(f"task {task.spec.id}", before, phase)
    task.phase = phase
    state.counts[before] -= 1
    state.counts[phase] += 1
    state.touched.tasks.add(task.number)
    if phase is TaskPhase.READY:
        heappush(state.queue.ready, task.rank)
    elif phase is TaskPhase.DONE:
        _release_dependants(state, task)
    elif before is TaskPhase.DONE:
        for number in state.dependants[task.number]:
            state.tasks[number].waiting += 1
    if (phase in ENDED_TASK) != (before in ENDED_TASK):
        _order_soft_dependants(state, task, by=-1 if phase in ENDED_TASK else 1)


def _release_dependants(state: RunState, task: TaskState) -> None:
    for number in state.dependants[task.number]:
        dependant = state.tasks[number]
        dependant.waiting -= 1
        if dependant.waiting == 0 and dependant.phase is TaskPhase.BLOCKED:
            move_task(state, dependant, TaskPhase.READY)


def _order_soft_dependants(state: RunState, task: TaskState, *, by: int) -> None:
    for number in state.soft_dependants[task.number]:
        dependant = state.tasks[number]
        dependant.soft_waiting += by
        if dependant.phase is TaskPhase.READY and dependant.soft_waiting == (by > 0):
            heappush(state.queue.ready, dependant.rank)  # the older entry no longer equals its rank, so it is stale


def _want_again(state: RunState, tasks: Iterable[TaskState], *, restored: Iterable[TaskState] = ()) -> None:
    """Put tasks back: ready if all they need is done, else blocked; those `restored` are done, as they once were."""
    wanted, done = list(tasks), list(restored)
    for task in (*wanted, *done):
        if task.phase is not TaskPhase.BLOCKED:
            move_task(state, task, TaskPhase.BLOCKED)
        task.tries = task.lost = task.not_before_ms = 0
        task.because = None
        task.error_type = ""
        task.cancelling = False
        task.notes, task.go_on = (), None
    for task in done:
        task.tries = task.tries_until_done(task.key) or 0
        if task.phase is TaskPhase.READY:  # one restored before it was the last that it waited for
            move_task(state, task, TaskPhase.BLOCKED)
        move_task(state, task, TaskPhase.DONE)
    for task in wanted:  # only now: one of them may have been what another waited for
        if task.waiting == 0 and task.phase is TaskPhase.BLOCKED:
            move_task(state, task, TaskPhase.READY)


def _move_run(state: RunState, phase: RunPhase) -> None:
    if state.phase is phase:
        return
    if (state.phase, phase) not in RUN_MOVES:
        raise illegal(f"run {state.name}", state.phase, phase)
    state.phase = phase
    if phase is RunPhase.ACTIVE:
        state.pause_kind = state.reason = ""
        state.ended_at_ms = None
        state.cancelled = False


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
        _let_in(state, joined)


def _let_in(state: RunState, joined: Joined) -> None:
    """Queue tasks that joined, and those whose place in the queue is another by that."""
    for task in joined.held:
        move_task(state, task, TaskPhase.BLOCKED)
    for task in joined.moved:
        if task.phase is TaskPhase.READY:
            heappush(state.queue.ready, task.rank)  # the older entry no longer equals its rank, so it is stale
    for task in joined.added:
        if task.waiting == 0 and task.phase is TaskPhase.BLOCKED:
            move_task(state, task, TaskPhase.READY)


def _task_created(state: RunState, event: e.TaskCreated, _at_ms: int, _: list[Command]) -> None:
    joined = add_tasks(state, [event.task], ask=CREATED)
    if event.parent is not None:
        parent, [task] = state.task(event.parent), joined.added
        task.parent, task.depth = parent.number, parent.depth + 1
        parent.children += 1
    _let_in(state, joined)


def _task_updated(state: RunState, event: e.TaskUpdated, _at_ms: int, _: list[Command]) -> None:
    task = state.task(event.task.id)
    if task.phase not in (TaskPhase.BLOCKED, TaskPhase.READY):
        raise illegal(f"task {task.spec.id}", task.phase, TaskPhase.BLOCKED)
    _let_in(state, change_task(state, event.task))


def _asking_ended(state: RunState, event: e.AskingEnded, _at_ms: int, _: list[Command]) -> None:
    state.asking, state.stopped, state.end_reason = False, event.stopped, event.reason


def _candidates_judged(state: RunState, event: e.CandidatesJudged, _at_ms: int, _: list[Command]) -> None:
    for judgement in event.judgements:
        task = state.task(judgement.task)
        task.judgement = judgement
        state.touched.tasks.add(task.number)


def _plan_revised(state: RunState, event: e.PlanRevised, _at_ms: int, commands: list[Command]) -> None:
    _move_run(state, RunPhase.ACTIVE)
    state.cancelled = False
    revised = revise_plan(state, event)
    landing.forget_joins(state)
    landing.forget_unwanted(state)
    state.queue = Queue()  # what is ready queues anew, below; who was parked may belong to another lane or group now
    for task in revised.running:
        assert task.attempt is not None
        commands.append(CancelAttempt(task.number, task.attempt.number))
    _want_again(state, revised.wanted, restored=revised.restored)


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


def _attempt_queued(state: RunState, event: e.AttemptQueued, at_ms: int, commands: list[Command]) -> None:
    task = state.task(event.task)
    _move_run(state, RunPhase.ACTIVE)
    move_task(state, task, TaskPhase.ACTIVE)
    task.attempts = event.attempt
    task.attempt = AttemptState(
        number=event.attempt,
        phase=AttemptPhase.QUEUED,
        key=task.key,
        spec=task.spec,
        retry=event.retry,
        slot=event.slot,
        queued_at_ms=at_ms,
        gpus=event.gpus,
        agent=event.agent,
        reserved_usd=reserve_of(state.settings, task.spec),
    )
    state.open[task.number] = task
    state.touched.attempts.add(task.number)
    _hold(state, task, sign=1)
    state.spending.attempts += 1
    commands.append(StartAttempt(task.number, event.attempt))


def _hold(state: RunState, task: TaskState, *, sign: int) -> None:
    """Take (1) or give back (-1) what an open attempt holds."""
    assert task.attempt is not None
    held, spec, spending = state.holdings, task.attempt.spec, state.spending
    if spec.lane is not None:
        lane = str(spec.lane)
        held.lanes[lane] = held.lanes.get(lane, 0) + sign
    if spec.group is not None:
        held.groups[spec.group] = held.groups.get(spec.group, 0) + sign
    held.cpus += sign * spec.cpus
    spending.reserved_usd += sign * task.attempt.reserved_usd
    spending.reserved_tokens += sign * spec.reserve_tokens
    if task.attempt.gpus:
        (held.gpus.update if sign > 0 else held.gpus.difference_update)(task.attempt.gpus)
    (held.slots.add if sign > 0 else held.slots.discard)(task.attempt.slot)


def _attempt_started(state: RunState, event: e.AttemptStarted, _at_ms: int, _: list[Command]) -> None:
    task = state.task(event.task)
    attempt = _move_attempt(task, event.attempt, AttemptPhase.RUNNING)
    attempt.pid, attempt.started_at_ms = event.pid, event.began_at_ms
    if attempt.asks is not None:  # it was quicker than the word of its start
        _move_attempt(task, event.attempt, AttemptPhase.NEEDS_INPUT)
    state.touched.attempts.add(task.number)


def _attempt_scoring(state: RunState, event: e.AttemptScoring, _at_ms: int, _: list[Command]) -> None:
    task = state.task(event.task)
    _move_attempt(task, event.attempt, AttemptPhase.SCORING)
    state.touched.attempts.add(task.number)


def _question_asked(state: RunState, event: e.QuestionAsked, at_ms: int, _: list[Command]) -> None:
    task = state.task(event.task)
    if asked(task, event, at_ms).phase is AttemptPhase.RUNNING:
        _move_attempt(task, event.attempt, AttemptPhase.NEEDS_INPUT)
    state.touched.attempts.add(task.number)


def _question_answered(state: RunState, event: e.QuestionAnswered, _at_ms: int, _: list[Command]) -> None:
    task = state.task(event.task)
    if replied(task, event).phase is AttemptPhase.NEEDS_INPUT:
        _move_attempt(task, event.attempt, AttemptPhase.RUNNING)
    state.touched.attempts.add(task.number)


def _progress_reported(state: RunState, event: e.ProgressReported, at_ms: int, _: list[Command]) -> None:
    progressed(state.task(event.task), event, at_ms)


def _move_attempt(task: TaskState, number: int, phase: AttemptPhase) -> AttemptState:
    attempt = task.attempt
    before = task.ended if attempt is None else attempt.phase
    if before is None or task.attempts != number:
        raise UnknownEvent(f"attempt {number} of task {task.spec.id} is not the task's newest")
    if attempt is None or (before, phase) not in ATTEMPT_MOVES:  # no move leads away from an end
        raise illegal(f"attempt {number} of task {task.spec.id}", before, phase)
    attempt.phase = phase
    return attempt


def _noted(_state: RunState, _event: Event, _at_ms: int, _: list[Command]) -> None:
    """Nothing changes by it: it is there for people, or what it brought about has events of its own."""


def _attempt_ended(state: RunState, event: e.AttemptEnded, at_ms: int, commands: list[Command]) -> None:
    task = state.task(event.task)
    attempt = _move_attempt(task, event.attempt, event.phase)
    attempt.pid = event.pid or attempt.pid
    attempt.started_at_ms = event.began_at_ms or attempt.started_at_ms
    state.touched.attempts.discard(task.number)
    state.touched.ended.append(Ended(task.number, attempt, event, state.number + 1, at_ms))
    _hold(state, task, sign=-1)
    released(state, attempt.spec)
    _settle(state, task, event, reserved=attempt)
    del state.open[task.number]
    task.attempt, task.ended = None, event.phase
    rest_account(state, attempt.agent, event, commands)
    remark(state, event)
    commands.append(ForgetAttempt(task.number, event.attempt))
    if task.removed:
        task.phase = TaskPhase.CANCELLED  # it was taken off the counts when the plan lost it
        state.touched.tasks.add(task.number)
    elif attempt.key != task.key:  # the plan was edited while it ran: its result stays readable and counts for nothing
        done = task.tries_until_done(task.key) is not None  # edited there and back: this has been done before
        _want_again(state, [] if done else [task], restored=[task] if done else [])
    else:
        _judge_task(state, task, event, commands=commands, at_ms=at_ms)


def _settle(state: RunState, task: TaskState, event: e.AttemptEnded, *, reserved: AttemptState) -> None:
    """Book what the attempt says it cost, or its reservation where it does not say."""
    cost = reserved.reserved_usd if event.usage.cost_usd is None else event.usage.cost_usd
    tokens = reserved.spec.reserve_tokens if event.usage.tokens is None else event.usage.tokens
    state.spending.cost_usd += cost
    state.spending.tokens += tokens
    task.cost_usd += cost


def _judge_task(
    state: RunState, task: TaskState, event: e.AttemptEnded, *, at_ms: int, commands: list[Command]
) -> None:
    task.tries += event.counts
    task.lost += event.phase is AttemptPhase.ABANDONED
    task.error_type = "" if event.error is None else event.error.type
    task.score = event.score or task.score
    take_in(state, task, event, commands)
    if event.phase is AttemptPhase.SUCCEEDED:
        before = [done for done in task.completions if done[0] != task.key]
        task.completions = (*before, (task.key, task.tries))
        move_task(state, task, TaskPhase.DONE)
    elif task.cancelling or event.phase is AttemptPhase.CANCELLED:
        move_task(state, task, TaskPhase.CANCELLED)
    elif event.error is not None and event.error.will_retry:
        task.not_before_ms = at_ms + round(event.backoff_s * 1000)
        # A plan that was edited there and back may want again what this one stood on.
        move_task(state, task, TaskPhase.BLOCKED if task.waiting else TaskPhase.READY)
        if event.backoff_s:
            commands.append(WakeTask(task.number, event.backoff_s))
    else:
        move_task(state, task, TaskPhase.FAILED)


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
    _move_run(state, RunPhase.ACTIVE)
    state.cancelled = False
    state.asking, state.stopped = state.asking or state.stopped, False
    landing.begin_again(state)
    _want_again(state, (state.task(task_id) for task_id in event.tasks))


def _task_reviewed(state: RunState, event: e.TaskReviewed, _at_ms: int, _: list[Command]) -> None:
    reviewed(state.task(event.task), event)
    if event.decision == "rejected":
        landing.forget_unwanted(state)


def _task_revised(state: RunState, event: e.TaskRevised, _at_ms: int, _: list[Command]) -> None:
    task = state.task(event.task)
    _move_run(state, RunPhase.ACTIVE)
    state.cancelled = False
    landing.begin_again(state)
    _want_again(state, [task])
    revised(task, event.text)


def _merge_asked(state: RunState, event: e.MergeAsked, _at_ms: int, _: list[Command]) -> None:
    _move_run(state, RunPhase.ACTIVE)
    landing.asked(state, event)


def _errand_added(state: RunState, event: e.ErrandAdded, _at_ms: int, _: list[Command]) -> None:
    _move_run(state, RunPhase.ACTIVE)
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
    _move_run(state, RunPhase.PAUSED)
    state.pause_kind, state.reason = event.kind, event.reason


def _run_waiting(state: RunState, event: e.RunWaiting, _at_ms: int, _: list[Command]) -> None:
    _move_run(state, RunPhase.WAITING)
    state.reason = event.reason


def _run_resumed(state: RunState, _event: e.RunResumed, _at_ms: int, _: list[Command]) -> None:
    _move_run(state, RunPhase.ACTIVE)


def _run_ended(state: RunState, event: e.RunEnded, at_ms: int, _: list[Command]) -> None:
    _move_run(state, RunPhase.CANCELLED if event.cancelled else RunPhase.FINISHED)
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
    e.AttemptQueued: _attempt_queued,
    e.AttemptStarted: _attempt_started,
    e.AttemptScoring: _attempt_scoring,
    e.AttemptAdopted: _noted,
    e.RunAccounted: _noted,
    e.DriverSeen: _noted,
    e.AttemptEnded: _attempt_ended,
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
    e.QuestionAsked: _question_asked,
    e.QuestionAnswered: _question_answered,
    e.ProgressReported: _progress_reported,
    e.RunPaused: _run_paused,
    e.RunWaiting: _run_waiting,
    e.RunResumed: _run_resumed,
    e.RunEnded: _run_ended,
    e.External: _external,
    e.RequestTaken: _noted,
    e.RequestRefused: _noted,
}
