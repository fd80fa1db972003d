"""What the events of attempts do to the state: what they hold, what they cost, and what their ends mean to their tasks.

Called by the machine only. Must not choose what to start (that is `schedule`).
"""

from budwood._core import events as e
from budwood._core.candidates import remark, rest_account, take_in
from budwood._core.commands import Command, ForgetAttempt, StartAttempt, WakeTask
from budwood._core.model import AttemptPhase, RunPhase, TaskPhase
from budwood._core.phases import move_attempt, move_run, move_task, want_again
from budwood._core.reserve import booked_usd, is_untold, reserve_of
from budwood._core.schedule import released
from budwood._core.speaking import asked, progressed, replied
from budwood._core.state import AttemptState, Ended, RunState, TaskState


def attempt_queued(state: RunState, event: e.AttemptQueued, at_ms: int, commands: list[Command]) -> None:
    task = state.task(event.task)
    move_run(state, RunPhase.ACTIVE)
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


def attempt_started(state: RunState, event: e.AttemptStarted, _at_ms: int, _: list[Command]) -> None:
    task = state.task(event.task)
    attempt = move_attempt(task, event.attempt, AttemptPhase.RUNNING)
    attempt.pid, attempt.started_at_ms = event.pid, event.began_at_ms
    if attempt.asks is not None:  # it was quicker than the word of its start
        move_attempt(task, event.attempt, AttemptPhase.NEEDS_INPUT)
    state.touched.attempts.add(task.number)


def attempt_scoring(state: RunState, event: e.AttemptScoring, _at_ms: int, _: list[Command]) -> None:
    task = state.task(event.task)
    move_attempt(task, event.attempt, AttemptPhase.SCORING)
    state.touched.attempts.add(task.number)


def question_asked(state: RunState, event: e.QuestionAsked, at_ms: int, _: list[Command]) -> None:
    task = state.task(event.task)
    if asked(task, event, at_ms).phase is AttemptPhase.RUNNING:
        move_attempt(task, event.attempt, AttemptPhase.NEEDS_INPUT)
    state.touched.attempts.add(task.number)


def question_answered(state: RunState, event: e.QuestionAnswered, _at_ms: int, _: list[Command]) -> None:
    task = state.task(event.task)
    if replied(task, event).phase is AttemptPhase.NEEDS_INPUT:
        move_attempt(task, event.attempt, AttemptPhase.RUNNING)
    state.touched.attempts.add(task.number)


def progress_reported(state: RunState, event: e.ProgressReported, at_ms: int, _: list[Command]) -> None:
    progressed(state.task(event.task), event, at_ms)


def attempt_ended(state: RunState, event: e.AttemptEnded, at_ms: int, commands: list[Command]) -> None:
    task = state.task(event.task)
    attempt = move_attempt(task, event.attempt, event.phase)
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
        want_again(state, [] if done else [task], restored=[task] if done else [])
    else:
        _judge_task(state, task, event, commands=commands, at_ms=at_ms)


def _settle(state: RunState, task: TaskState, event: e.AttemptEnded, *, reserved: AttemptState) -> None:
    """Book what the attempt says it cost, or its reservation where it does not say."""
    cost = booked_usd(event.usage, event.reviewed, reserved=reserved.reserved_usd)
    tokens = reserved.spec.reserve_tokens if event.usage.tokens is None else event.usage.tokens
    state.spending.cost_usd += cost
    state.spending.tokens += tokens
    task.cost_usd += cost
    untold = _untold(state, event, reserved)
    state.spending.untold += untold
    task.untold += untold
    if event.usage.cost_usd is None:
        state.spending.guessed_usd += reserved.reserved_usd
        task.guessed_usd += reserved.reserved_usd


def _untold(state: RunState, event: e.AttemptEnded, attempt: AttemptState) -> int:
    """Count what did not say what it cost: the attempt, unless there was nothing but a review, and the review."""
    made, reviewed = event.reviewed is None or event.told is not None, event.reviewed
    own = made and is_untold(state.settings, event.usage, attempt.agent, reserved=attempt.reserved_usd)
    return own + (reviewed is not None and reviewed.usage.cost_usd is None)


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
