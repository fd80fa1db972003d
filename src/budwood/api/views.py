"""What Python sees of a run's tasks, batches, lanes and results: small frozen objects, read from the store.

Knows rows and events. Must not know drivers.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import msgspec
from msgspec import UNSET

from budwood._core.events import AttemptEnded, Recorded
from budwood._core.landing import members
from budwood._core.lane_phase import lane_phase
from budwood._core.model import ENDED_TASK, AttemptPhase, LanePhase, LaneSpec, TaskId, TaskPhase
from budwood._core.rows import AttemptRow, TaskRow
from budwood._core.state import RunState
from budwood.errors import TaskFailed, UsageError

_SUCCEEDED = AttemptPhase.SUCCEEDED
_WORST_FIRST = (TaskPhase.FAILED, TaskPhase.SKIPPED, TaskPhase.CANCELLED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why an attempt did not succeed."""

    type: str
    """In one word: exit, timeout, exception; the reference lists them."""
    message: str
    timed_out: bool
    traceback: str
    """Of a function that raised, as the interpreter that called it wrote it; else empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A task and where it stands."""

    id: TaskId
    state: TaskPhase
    batch: int
    """Which of the graph's batches it is in, from 1; 0 for what the merge queue has done, which is in none."""
    lane: TaskId | None
    attempts: int
    duration_s: float | None
    """How long the attempt took that counts: the one that did it, else the newest that has ended."""
    cost_usd: float
    because: TaskId | None
    """Why it was skipped: the task that did not succeed."""
    error: Failure | None
    """Why that attempt did not succeed."""
    description: str
    command: str
    """What it runs: the command, or the function as "module:name"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Tasks that need nothing of each other, but something of the batch before; a view, not a barrier."""

    number: int
    tasks: tuple[TaskId, ...]
    state: TaskPhase
    """When all have ended the worst of their states, so done only if all are; before, active from the first attempt."""
    duration_s: float | None
    """From the first start to the last end, once all have ended."""
    cost_usd: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """Tasks that never run at the same time."""

    id: TaskId
    name: str
    state: LanePhase
    after: tuple[TaskId, ...]
    tasks: tuple[TaskId, ...]
    counts: dict[TaskPhase, int]
    """How many of its tasks stand where; only states that one of them has."""
    duration_s: float
    """Of all ended attempts together."""
    cost_usd: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """How a task ended that was tried."""

    task: TaskId
    state: TaskPhase
    attempt: int
    """The number of the attempt that counts: its last."""
    duration_s: float
    cost_usd: float
    """Of all its attempts."""
    value: object
    """What its function returned; None of a command and of a failure."""
    error: Failure | None
    """Why it did not succeed: type, message, and of a function the traceback."""


class Rows:
    """A run's rows, read at one go; attempts by task."""

    def __init__(self, tasks: Iterable[TaskRow], attempts: Iterable[AttemptRow]) -> None:
        self.tasks = [task for task in tasks if not task.removed]
        self._attempts: dict[int, list[AttemptRow]] = {}
        for attempt in attempts:
            self._attempts.setdefault(attempt.task, []).append(attempt)

    def attempts_of(self, task: TaskRow) -> Sequence[AttemptRow]:
        """List a task's attempts, oldest first."""
        return self._attempts.get(task.number, ())

    def last_of(self, task: TaskRow) -> AttemptRow | None:
        """Return the attempt that counts: of a task that is done the one that did it, else the newest that has ended.

        They differ where a plan was edited there and back: what was done under the old definition counts again.
        """
        newest = reversed(self.attempts_of(task))
        if task.phase is TaskPhase.DONE:
            return next((each for each in newest if each.key == task.key and each.phase is _SUCCEEDED), None)
        return next((each for each in newest if each.finished_at_ms is not None), None)


def task_views(rows: Rows) -> list[Task]:
    """Describe every task, in task order."""
    return [_task_view(task, rows.last_of(task)) for task in rows.tasks]


def _task_view(task: TaskRow, last: AttemptRow | None) -> Task:
    return Task(
        id=task.id,
        state=task.phase,
        batch=task.batch,
        lane=task.lane,
        attempts=task.attempts,
        duration_s=None if last is None else last.wall_s,
        cost_usd=task.cost_usd,
        because=task.because,
        error=None if last is None else failure_of(last),
        description=task.description,
        command=task.command,
    )


def batch_views(rows: Rows) -> list[Batch]:
    """Describe every batch, by number."""
    grouped: dict[int, list[TaskRow]] = {}
    for task in rows.tasks:
        if task.batch:  # what the merge queue has done is in none
            grouped.setdefault(task.batch, []).append(task)
    return [
        Batch(
            number=number,
            tasks=tuple(task.id for task in tasks),
            state=_state(tasks),
            duration_s=_span_s(rows, tasks),
            cost_usd=sum(task.cost_usd for task in tasks),
        )
        for number, tasks in sorted(grouped.items())
    ]


def lane_views(rows: Rows, state: RunState) -> list[Lane]:
    """Describe every lane, in the order of the plan."""
    inside = members(state)
    grouped: dict[str, list[TaskRow]] = {}
    for task in rows.tasks:
        grouped.setdefault(str(task.lane), []).append(task)
    found = []
    for lane in state.lanes:
        line = f"lane {lane.id}"
        phase = lane_phase(state, line, inside.get(line, ()))
        found.append(_lane_view(rows, lane, phase, grouped.get(str(lane.id), [])))
    return found


def _lane_view(rows: Rows, lane: LaneSpec, phase: LanePhase, tasks: Sequence[TaskRow]) -> Lane:
    return Lane(
        id=lane.id,
        name=lane.name,
        state=phase,
        after=lane.after,
        tasks=tuple(task.id for task in tasks),
        counts=dict(Counter(task.phase for task in tasks)),
        duration_s=sum(each.wall_s or 0.0 for task in tasks for each in rows.attempts_of(task)),
        cost_usd=sum(task.cost_usd for task in tasks),
    )


def _state(tasks: Sequence[TaskRow]) -> TaskPhase:
    phases = {task.phase for task in tasks}
    if phases <= ENDED_TASK:
        return next((worst for worst in _WORST_FIRST if worst in phases), TaskPhase.DONE)
    if phases & {TaskPhase.ACTIVE, *ENDED_TASK}:
        return TaskPhase.ACTIVE
    return TaskPhase.READY if TaskPhase.READY in phases else TaskPhase.BLOCKED


def _span_s(rows: Rows, tasks: Sequence[TaskRow]) -> float | None:
    if not all(task.phase in ENDED_TASK for task in tasks):
        return None
    attempts = [each for task in tasks for each in rows.attempts_of(task)]
    began = [each.started_at_ms or each.queued_at_ms for each in attempts]
    ended = [each.finished_at_ms for each in attempts if each.finished_at_ms is not None]
    return max(0, max(ended) - min(began)) / 1000 if ended else None


def result_views(rows: Rows, events: Iterable[Recorded]) -> list[Result]:
    """Describe how every task ended that was tried, in task order; the events tell what functions returned."""
    lasts = {task.number: last for task in rows.tasks if task.phase in ENDED_TASK and (last := rows.last_of(task))}
    wanted = {last.end_event for last in lasts.values()}
    values = {recorded.number: value_of(recorded) for recorded in events if recorded.number in wanted}
    return [
        _result_view(task, lasts[task.number], values.get(lasts[task.number].end_event or 0))
        for task in rows.tasks
        if task.number in lasts
    ]


def _result_view(task: TaskRow, last: AttemptRow, value: object) -> Result:
    return Result(
        task=task.id,
        state=task.phase,
        attempt=last.number,
        duration_s=last.wall_s or 0.0,
        cost_usd=task.cost_usd,
        value=value,
        error=failure_of(last),
    )


def failure_of(attempt: AttemptRow) -> Failure | None:
    """Say why an attempt did not succeed; None if it did, or has not ended."""
    error = attempt.error
    if error is None:
        return None
    trace = error.traceback if isinstance(error.traceback, str) else ""
    return Failure(type=error.type, message=error.message, timed_out=error.timed_out, traceback=trace)


def value_of(recorded: Recorded) -> object:
    """Return what a function returned, from the event that ended its attempt; None where nothing was."""
    event = recorded.event
    if not isinstance(event, AttemptEnded) or event.result is UNSET:
        return None
    found: object = msgspec.json.decode(event.result)
    return found


def refuse_no_result(task: TaskRow, last: AttemptRow | None, *, run: str) -> None:
    """Raise TaskFailed, with the function's traceback, of a task that has ended without a result."""
    if task.phase not in ENDED_TASK:
        raise UsageError(f"task {task.id} of run {run} has not ended: it is {task.phase}", hint="run.wait() waits")
    if task.phase is TaskPhase.SKIPPED:
        raise TaskFailed(f"task {task.id} of run {run} was skipped because of {task.because}", task=task.id)
    failure = None if last is None else failure_of(last)
    if failure is not None:
        message = f"task {task.id} of run {run}: {failure.message}"
        raise TaskFailed(message, task=task.id, traceback=failure.traceback)
    if task.phase is not TaskPhase.DONE:
        raise TaskFailed(f"task {task.id} of run {run} was cancelled", task=task.id)
