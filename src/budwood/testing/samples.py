"""Commits for tests of stores: a run that begins, gets tasks, and ends attempts.

Knows `_core` and the contract of stores; must not know any backend.
"""

from collections.abc import Sequence

from budwood._core.events import AttemptEnded, AttemptQueued, AttemptStarted, Event, Recorded, RunCreated, TasksAdded
from budwood._core.model import (
    AttemptError,
    AttemptPhase,
    Measure,
    RunPhase,
    RunSettings,
    TaskId,
    TaskPhase,
    TaskSpec,
    Usage,
)
from budwood._core.rows import AttemptRow, DependencyRow, Rows, RunRow, TaskRow
from budwood.stores.base import Answer, Commit, LogEntry

AT_MS = 1_700_000_000_000
FAILED = AttemptError(type="exit", message="exit code 1", attempt=1, max_retries=2, will_retry=True)


def recorded(after: int, events: Sequence[Event]) -> tuple[Recorded, ...]:
    """Number events behind `after`."""
    return tuple(Recorded(number, AT_MS + number, event) for number, event in enumerate(events, start=after + 1))


def run_row(run: str, last_event: int, *, name: str = "night", source: str = "/plan.toml", tasks: int = 0) -> RunRow:
    """Make the row of a run at its event `last_event`."""
    return RunRow(
        id=run,
        name=name,
        phase=RunPhase.ACTIVE,
        goal="grün & ∞",
        source=source,
        cwd="/tmp/a b",
        seed=-7,
        slots=2,
        created_at_ms=AT_MS + 1,
        updated_at_ms=AT_MS + last_event,
        last_event=last_event,
        fence=1,
        tasks=tasks,
    )


def note(run: str, after: int = 0, *, answers: tuple[Answer, ...] = (), logs: tuple[LogEntry, ...] = ()) -> Commit:
    """Make the smallest commit: one event."""
    event = RunCreated(run=run, name="night", settings=RunSettings(seed=-7, slots=2), source="/plan.toml")
    rows = Rows(run=run_row(run, after + 1))
    return Commit(after=after, events=recorded(after, [event]), rows=rows, answers=answers, logs=logs)


def tasks_added(run: str, ids: Sequence[TaskId], *, after: int = 0, edges: Sequence[tuple[int, int]] = ()) -> Commit:
    """Add tasks of these ids; an edge says which task, by number, comes after which."""
    specs = tuple(TaskSpec(id=name, run=("true",)) for name in ids)
    rows = Rows(
        run=run_row(run, after + 1, tasks=len(ids)),
        tasks=tuple(task_row(number, name) for number, name in enumerate(ids)),
        dependencies=tuple(DependencyRow(task=task, needs=needs, hard=needs % 2 == 0) for task, needs in edges),
    )
    return Commit(after=after, events=recorded(after, [TasksAdded(tasks=specs)]), rows=rows)


def task_row(number: int, name: TaskId, *, phase: TaskPhase = TaskPhase.READY, attempts: int = 0) -> TaskRow:
    """Make a task's row."""
    return TaskRow(number=number, id=name, key=f"{number:016x}", phase=phase, command="true", attempts=attempts)


def attempt_row(
    task: int, number: int = 1, *, error: AttemptError | None = None, begun_at_ms: int = AT_MS
) -> AttemptRow:
    """Make the row of an attempt that has ended."""
    return AttemptRow(
        task=task,
        number=number,
        phase=AttemptPhase.SUCCEEDED if error is None else AttemptPhase.FAILED,
        key=f"{task:016x}",
        retry=0,
        slot=1,
        queued_at_ms=begun_at_ms,
        started_at_ms=begun_at_ms + 1,
        finished_at_ms=begun_at_ms + 3,
        pid=4242,
        exit_code=0 if error is None else 1,
        wall_s=0.0021,
        cpu_s=0.0007,
        peak_memory_bytes=1_234_567,
        output_bytes=17,
        dropped_bytes=0,
        cost_usd=0.25,
        tokens=100,
        error=error,
    )


def turn(run: str, after: int, *, ended: int, begun: int, log: bytes = b"hello from a task\n") -> Commit:
    """Make what a typical turn of the driver's loop writes: an attempt ended, the next one was queued and started."""
    events: list[Event] = [
        AttemptEnded(
            task=f"task-{ended}",
            attempt=1,
            phase=AttemptPhase.SUCCEEDED,
            exit_code=0,
            pid=4242,
            began_at_ms=AT_MS,
            usage=Usage(cost_usd=0.25, tokens=100),
            measure=Measure(wall_s=0.0021, cpu_s=0.0007, peak_memory_bytes=1_234_567, output_bytes=17),
        ),
        AttemptQueued(task=f"task-{begun}", attempt=1, slot=1),
        AttemptStarted(task=f"task-{begun}", attempt=1, pid=4243, began_at_ms=AT_MS),
    ]
    queued = AttemptRow(
        task=begun,
        number=1,
        phase=AttemptPhase.RUNNING,
        key=f"{begun:016x}",
        retry=0,
        slot=1,
        queued_at_ms=AT_MS,
        started_at_ms=AT_MS + 1,
        pid=4243,
    )
    rows = Rows(
        run=run_row(run, after + 3, tasks=begun + 1),
        tasks=(
            task_row(ended, f"task-{ended}", phase=TaskPhase.DONE, attempts=1),
            task_row(begun, f"task-{begun}", phase=TaskPhase.ACTIVE, attempts=1),
        ),
        attempts=(attempt_row(ended), queued),
    )
    logs = (LogEntry(task=ended, attempt=1, data=log),)
    return Commit(after=after, events=recorded(after, events), rows=rows, logs=logs)
