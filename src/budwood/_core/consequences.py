"""What follows from an event by rule, as further events of the same commit.

A failure skips what depends on it, by name; a spent budget or a row of set-up faults pauses; the last end ends the
run. Pure. On replay these events come from the log like all others, so a changed rule never rewrites the past.
"""

from collections.abc import Iterable
from itertools import takewhile

from budwood._core.events import (
    AskingEnded,
    AttemptEnded,
    Event,
    External,
    PlanRevised,
    RunEnded,
    RunPaused,
    RunWaiting,
    TasksAdded,
    TasksCancelled,
    TasksRetried,
    TasksSkipped,
)
from budwood._core.judge import LIMIT, OUTSIDE, SETUP
from budwood._core.model import ENDED_RUN, AttemptPhase, RunPhase, TaskId, TaskPhase
from budwood._core.schedule import best_ready, has_budget, rests_until, time_is_spent, waits_for
from budwood._core.state import RunState, TaskState

_UNMET = (TaskPhase.FAILED, TaskPhase.CANCELLED, TaskPhase.SKIPPED)
_WORTH_SAYING_MS = 1000
_NOT_BEGUN = (TaskPhase.BLOCKED, TaskPhase.READY)


def consequences(state: RunState, event: Event) -> list[Event]:
    """List what follows from an event that was just applied."""
    match event:
        case AttemptEnded():
            return _after_attempt(state, event)
        case TasksCancelled(tasks=ids):
            return _skip_dependants(state, (state.task(i) for i in ids))
        case TasksAdded(more=False, ask=number):
            return _skip_dependants(state, _stood_on(state, number))
        case PlanRevised() | TasksRetried():
            return _skip_dependants(state, (task for task in state.tasks if task.phase in _UNMET and not task.removed))
        case _:
            return []


def _stood_on(state: RunState, ask: int) -> list[TaskState]:
    """Return what the tasks of the last answer come directly after; nobody else can have become impossible by it."""
    newest = takewhile(lambda task: task.ask == ask, reversed(state.tasks))
    return [state.tasks[n] for n in sorted({n for task in newest for n in state.hard[task.number]})]


def _after_attempt(state: RunState, event: AttemptEnded) -> list[Event]:
    task = state.task(event.task)
    found: list[Event] = []
    if event.error is not None:
        found += _external_causes(event)
        found += _pauses(state, task, event)
    if task.phase is TaskPhase.FAILED and state.settings.strict and task.spec.errand is None:
        found += _strict(state, task)
    elif task.phase in _UNMET:
        found += _skip_dependants(state, [task])
    elif task.phase is TaskPhase.BLOCKED:  # an edited plan wants it again; what it stands on may have failed meanwhile
        found += _skip_dependants(state, (state.tasks[number] for number in state.hard[task.number]))
    return found


def _external_causes(event: AttemptEnded) -> Iterable[Event]:
    assert event.error is not None
    if event.phase is AttemptPhase.TIMED_OUT or event.error.type in ("memory", LIMIT) or event.error.type in OUTSIDE:
        yield External(cause=event.error.type, detail=event.error.message, task=event.task, attempt=event.attempt)


def _pauses(state: RunState, task: TaskState, event: AttemptEnded) -> Iterable[Event]:
    assert event.error is not None
    if state.phase not in (RunPhase.ACTIVE, RunPhase.WAITING):
        return
    if event.error.type in OUTSIDE:
        yield RunPaused(kind=OUTSIDE[event.error.type], reason=f"task {event.task}: {event.error.message}")
    elif event.error.type in SETUP and task.phase is TaskPhase.FAILED and _breaker_opens(state, task):
        many, last = state.settings.breaker, f"task {event.task}: {event.error.message}"
        text = f"{many} tasks in a row could not even begin; last, {last}"
        yield External(cause="breaker", detail=text)
        yield RunPaused(kind="breaker", reason=text)


def _breaker_opens(state: RunState, task: TaskState) -> bool:
    """Look for K set-up faults in task order around this one, with no success between them."""
    found = 1
    for step in (-1, 1):
        number = task.number + step
        while 0 <= number < len(state.tasks) and found < state.settings.breaker:
            other = state.tasks[number]
            number += step
            if other.removed:
                continue
            if other.phase is TaskPhase.DONE:
                break
            found += other.phase is TaskPhase.FAILED and other.error_type in SETUP
    return found >= state.settings.breaker > 0


def _strict(state: RunState, task: TaskState) -> list[Event]:
    rest = tuple(other.spec.id for other in state.tasks if other.phase in _NOT_BEGUN and not other.removed)
    ends: list[Event] = [TasksSkipped(tasks=rest, because=task.spec.id)] if rest else []
    if state.asking:
        ends.append(AskingEnded(asks=state.asks, stopped=True))
    return [External(cause="strict", detail=f"task {task.spec.id} failed", task=task.spec.id), *ends] if ends else []


def _skip_dependants(state: RunState, causes: Iterable[TaskState]) -> list[Event]:
    """Name everything that can no longer run, each with the task that began it."""
    found: list[Event] = []
    seen: set[int] = set()
    for cause in causes:
        if cause.phase not in _UNMET:
            continue
        skipped: list[TaskId] = []
        stack = [cause.number]
        while stack:
            for number in state.dependants[stack.pop()]:
                task = state.tasks[number]
                if number not in seen and task.phase in _NOT_BEGUN:
                    seen.add(number)
                    skipped.append(task.spec.id)
                    stack.append(number)
        if skipped:
            because = cause.spec.id if cause.because is None else cause.because
            found.append(TasksSkipped(tasks=tuple(skipped), because=because))
    return found


def at_rest(state: RunState, now_ms: int) -> list[Event]:
    """Say what follows when nothing more can start in this turn: the run's end, a spent budget, a wait."""
    if state.phase in ENDED_RUN or state.arriving:
        return []
    if not state.open and state.all_ended:
        return [RunEnded(cancelled=state.cancelled)]
    if state.phase not in (RunPhase.ACTIVE, RunPhase.WAITING):
        return []
    if time_is_spent(state, now_ms):
        return budget_pause(f"time: {state.driven_until(now_ms):.0f} of {state.settings.budget_time_s:.0f} s")
    if state.open:
        return []
    if state.asking and state.tasks_ended and len(state.tasks) >= state.settings.max_tasks:
        return budget_pause(f"{len(state.tasks)} of {state.settings.max_tasks} tasks, and the strategy wants more")
    task = best_ready(state, now_ms)
    if task is not None:
        return [] if has_budget(state, task) else budget_pause(_what_is_spent(state, task))
    return _waiting(state, now_ms)


def _waiting(state: RunState, now_ms: int) -> list[Event]:
    """Say so when nothing runs because every ready task is in back-off, or asks for more than there is."""
    ready = [task for task in state.tasks if task.phase is TaskPhase.READY]
    held = [why for task in ready if task.not_before_ms <= now_ms and (why := waits_for(state, task)) is not None]
    if held and len(held) == len(ready):  # nothing is open that could ever make room for them
        return [RunPaused(kind="limits", reason=f"no task can start; task {ready[0].spec.id}: {held[0]}")]
    until = min((max(task.not_before_ms, rests_until(state, task)) for task in ready), default=0)
    if state.phase is RunPhase.WAITING or until < now_ms + _WORTH_SAYING_MS:
        return []
    resting = sorted(account for account, end in state.limited.items() if end > now_ms)
    why = f"at its limit: {', '.join(resting)}; ready tasks" if resting else "ready tasks in back-off"
    return [RunWaiting(reason=f"{why}: {len(ready)}", until_ms=until)]


def budget_pause(what: str) -> list[Event]:
    """Say that a budget is spent, and pause."""
    return [External(cause="budget", detail=what), RunPaused(kind="budget", reason=f"budget spent: {what}")]


def _what_is_spent(state: RunState, task: TaskState) -> str:
    limits, spent = state.settings, state.spending
    if limits.max_attempts is not None and spent.attempts >= limits.max_attempts:
        return f"{spent.attempts} of {limits.max_attempts} attempts"
    most = limits.budget_tokens
    if most is not None and spent.tokens >= most:
        return f"{spent.tokens} of {most} tokens"
    if most is not None and spent.tokens + task.spec.reserve_tokens > most:
        return f"{spent.tokens} of {most} tokens, and the next attempt would pass that"
    return f"${spent.cost_usd:.2f} of ${limits.budget_usd:.2f}, and the next attempt would pass that"
