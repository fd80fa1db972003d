"""Why things are as they are: why a task does not run, why it failed, why a run does not go on.

Pure: from a run's state, who drives it, and what time it is. Must not read a store: a function looks errors up.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from msgspec import Struct

from budwood._core.candidates import lane_of
from budwood._core.model import ENDED_RUN, AttemptError, AttemptPhase, RunPhase, TaskId, TaskPhase
from budwood._core.schedule import has_budget, waits_for
from budwood._core.state import RunState, TaskState
from budwood.cli.found import Found
from budwood.cli.landing import behind
from budwood.project.find import NOT_BEGUN
from budwood.project.times import span
from budwood.project.words import counted, some

_MOST = 5


class Reason(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """One cause, in words; `kind` is for programs, `task` is whom it is about if that is not who was asked about."""

    kind: str
    text: str
    task: TaskId | None = None


@dataclass(frozen=True, slots=True)
class Scene:
    """What an answer is made of."""

    state: RunState
    driver: str | None
    now_ms: int
    error_of: Callable[[TaskState], AttemptError | None]
    found_of: Callable[[TaskState], Found | None]
    """What an open attempt has come to while nobody drives the run; None while somebody does."""
    moved_to: str | None = None
    """The store that the run was moved to; then nothing happens to it here."""


_FOUND_WORDS = {
    Found.ENDED: "has ended, and its result is not yet taken",
    Found.LOST: "was lost with its supervisor; the task will be tried again",
    Found.UNSENT: "was decided on and never begun; it will be sent again",
    Found.REPEATED: "ended with its driver; the function will be called again",
}


def found_words(found: Found | None) -> str | None:
    """Say what an attempt that nobody drives any more has come to; None if it runs."""
    return None if found is None else _FOUND_WORDS.get(found)


def why_task(scene: Scene, task: TaskState) -> list[Reason]:
    """Say why a task stands where it stands."""
    if task.removed:
        return [Reason(kind="removed", text="the plan was edited and no longer has it; what it left is kept")]
    match task.phase:
        case TaskPhase.BLOCKED:
            return list(_blocked(scene, task))
        case TaskPhase.READY:
            return [held_back(scene, task)]
        case TaskPhase.ACTIVE:
            return [_active(scene, task)]
        case TaskPhase.DONE:
            done = Reason(kind="done", text=f"it succeeded at attempt {task.attempts}")
            return [done, *_unmerged(scene.state, lane_of(task.spec))]
        case TaskPhase.FAILED:
            return [_failed(scene, task)]
        case TaskPhase.SKIPPED:
            return list(_skipped(scene, task))
        case TaskPhase.CANCELLED:
            return [Reason(kind="cancelled", text="somebody cancelled it")]


def why_run(scene: Scene) -> list[Reason]:
    """Say why a run stands where it stands, what it waits for and what failed in it."""
    state = scene.state
    stopped = _run_stopped(scene)
    found = [] if stopped is None else [stopped]
    if state.phase not in ENDED_RUN:
        found += [_about(task, _active(scene, task)) for task in list(state.open.values())[:_MOST]]
        ready = [task for task in state.tasks if task.phase is TaskPhase.READY]
        if stopped is None:
            found += [_about(task, held_back(scene, task)) for task in ready[:_MOST]]
    failed = [task for task in state.tasks if task.phase is TaskPhase.FAILED and not task.removed]
    found += [_about(task, _failed(scene, task)) for task in failed[:_MOST]]
    if len(failed) > _MOST:
        found.append(Reason(kind="failed", text=f"{len(failed) - _MOST} more tasks failed"))
    waiting = (*state.landing.conflicts, *state.landing.held)
    found += [reason for line in waiting[:_MOST] for reason in _unmerged(state, line)]
    if len(waiting) > _MOST:
        found.append(Reason(kind="unmerged", text=f"{len(waiting) - _MOST} more lanes are not merged"))
    if state.landing.stopped is not None:
        found.append(Reason(kind="unmerged", text=f"merging has stopped: {state.landing.stopped.reason}"))
    return found or [_ended_well(state)]


def held_back(scene: Scene, task: TaskState) -> Reason:
    """Say why a task that is ready does not run."""
    state = scene.state
    stopped = _run_stopped(scene)
    if stopped is not None:
        return stopped
    if task.not_before_ms > scene.now_ms:
        left = span((task.not_before_ms - scene.now_ms) / 1000)
        error = scene.error_of(task)
        why = "" if error is None else f" after: {error.message}"
        return Reason(kind="back-off", text=f"it is tried again in {left}{why}")
    limit = waits_for(state, task)
    if limit is not None:
        return Reason(kind="limit", text=limit)
    if not has_budget(state, task):
        return Reason(kind="budget", text="what is left of the budget is reserved by what runs, or too little for it")
    if len(state.holdings.slots) >= state.settings.slots:
        return Reason(kind="slots", text=f"all {counted(state.settings.slots, 'slot')} are taken")
    return Reason(kind="next", text="nothing holds it back; it is about to start")


def _run_stopped(scene: Scene) -> Reason | None:
    state = scene.state
    if scene.moved_to is not None:
        return Reason(kind="moved", text=f"the run was moved to {scene.moved_to}")
    if state.number == 0:
        begins = "it has not begun; its driver is about to" if scene.driver else NOT_BEGUN
        return Reason(kind="not-begun", text=begins)
    if state.phase is RunPhase.PAUSED:
        return Reason(kind="paused", text=f"the run is paused: {state.reason or state.pause_kind or 'no reason given'}")
    if state.phase in ENDED_RUN:
        return Reason(kind="cancelled", text="the run was cancelled") if state.phase is RunPhase.CANCELLED else None
    if scene.driver is None:
        return Reason(kind="no-driver", text="nobody drives the run: its driver left or was killed")
    if state.phase is RunPhase.WAITING:
        times = [task.not_before_ms for task in state.tasks if task.phase is TaskPhase.READY]
        left = span(max(0, min(times, default=scene.now_ms) - scene.now_ms) / 1000)
        return Reason(kind="waiting", text=f"the run waits for {left} more: {state.reason}")
    return None


def _blocked(scene: Scene, task: TaskState) -> Iterator[Reason]:
    state = scene.state
    direct = [state.tasks[n] for n in state.hard[task.number] if state.tasks[n].phase is not TaskPhase.DONE]
    yield Reason(kind="dependencies", text=f"it waits for {some(each.spec.id for each in direct)}")
    roots = _roots(state, task)
    for root in roots[:_MOST]:
        yield _about(root, why_task(scene, root)[0])
    if len(roots) > _MOST:
        rest = len(roots) - _MOST
        yield Reason(kind="dependencies", text=f"and {counted(rest, 'more task')} before it not done")


def _roots(state: RunState, task: TaskState) -> list[TaskState]:
    """Find what everything before this task hangs on: the tasks that are neither done nor blocked themselves."""
    found: dict[int, TaskState] = {}
    seen: set[int] = set()
    stack = [task.number]
    while stack:
        for number in state.hard[stack.pop()]:
            other = state.tasks[number]
            if number in seen or other.phase is TaskPhase.DONE:
                continue
            seen.add(number)
            if other.phase is TaskPhase.BLOCKED:
                stack.append(number)
            else:
                found[number] = other
    return [found[number] for number in sorted(found)]


def _active(scene: Scene, task: TaskState) -> Reason:
    attempt = task.attempt
    assert attempt is not None
    found = scene.found_of(task)
    over = found_words(found)
    if found is not None and over is not None:
        return Reason(kind=found.value, text=f"attempt {attempt.number} {over}")
    for_s = span((scene.now_ms - (attempt.started_at_ms or attempt.queued_at_ms)) / 1000)
    if task.cancelling:
        return Reason(kind="cancelling", text=f"attempt {attempt.number} is being ended")
    if attempt.phase is AttemptPhase.QUEUED:
        cap = scene.state.settings.machine_slots
        why = f"; the machine's cap is {cap} attempts of all runs" if cap is not None else ""
        return Reason(
            kind="queued", text=f"attempt {attempt.number} has been handed to slot {attempt.slot} for {for_s}{why}"
        )
    if attempt.asks is not None:
        return Reason(kind="needs-input", text=f"attempt {attempt.number} waits for an answer: {attempt.asks.text}")
    text = f"attempt {attempt.number} has been running for {for_s} (slot {attempt.slot}, pid {attempt.pid})"
    return Reason(kind="running", text=text)


def _failed(scene: Scene, task: TaskState) -> Reason:
    error = scene.error_of(task)
    tried = f"{task.tries} of {task.spec.retries + 1} tries" if task.spec.retries else f"attempt {task.attempts}"
    if task.error_type == "conflict":
        tried = "another try would find the same"
    return Reason(kind="failed", text=f"it failed: {error.message if error else task.error_type} ({tried})")


def _skipped(scene: Scene, task: TaskState) -> Iterator[Reason]:
    cause = scene.state.by_id.get(str(task.because))
    if cause is None:
        yield Reason(kind="skipped", text="it was skipped", task=task.because)
        return
    kind = {TaskPhase.FAILED: "failed", TaskPhase.CANCELLED: "was cancelled"}.get(
        cause.phase, f"is {cause.phase.value}"
    )
    yield Reason(kind="skipped", text=f"it was skipped because {cause.spec.id} {kind}")
    if cause.phase is not TaskPhase.SKIPPED:
        yield from (_about(cause, reason) for reason in why_task(scene, cause))


def _unmerged(state: RunState, line: str) -> Iterator[Reason]:
    """Say why a line of history is not merged, if somebody has to do something about it."""
    conflict, held = state.landing.conflicts.get(line), state.landing.held.get(line)
    if conflict is not None:
        text = f"{line} is in conflict with what is merged: {some(conflict.files)}; to be solved in {conflict.path}"
        yield Reason(kind="conflict", text=text if not conflict.reason else f"{text} ({conflict.reason})")
    if held is not None:
        yield Reason(kind="broken", text=f"{line} is broken: {held.reason}", task=held.task)
    before = behind(state, line)
    if before:
        yield Reason(kind="unmerged", text=f"{line} is not merged: it stands on {some(before)}")


def _ended_well(state: RunState) -> Reason:
    if state.phase in ENDED_RUN:
        return Reason(
            kind="done", text=f"it has ended: {state.counts[TaskPhase.DONE]} of {state.planned} tasks are done"
        )
    return Reason(kind="next", text="nothing holds it back")


def _about(task: TaskState, reason: Reason) -> Reason:
    return reason if reason.task is not None else Reason(kind=reason.kind, text=reason.text, task=task.spec.id)
