"""The state as rows: what a commit changed, or everything.

Knows the state and the rows. Must not know stores.
"""

import math

import msgspec

from budwood._core.choice import ROOT
from budwood._core.model import PLAN, TaskPhase, TaskSpec
from budwood._core.rows import AttemptRow, DependencyRow, Rows, RunRow, TaskRow
from budwood._core.scores import Score, gain
from budwood._core.state import AttemptState, Ended, RunState, TaskState, Touched


def take_rows(state: RunState) -> Rows:
    """Return the rows that changed since the last call."""
    touched, state.touched = state.touched, Touched()
    attempts = [_open_row(n, attempt) for n in sorted(touched.attempts) if (attempt := state.tasks[n].attempt)]
    edges = tuple(sorted(touched.edges))
    root = None if state.strategy == PLAN else state.by_id.get(ROOT)
    if root is not None and root.number in touched.tasks:  # what it has come to is what others are compared with
        touched.tasks.update(task.number for task in state.tasks if task.score is not None)
    return Rows(
        run=run_row(state),
        tasks=tuple(_task_row(state.tasks[n], root) for n in sorted(touched.tasks)),
        attempts=(*map(_ended_row, touched.ended), *attempts),
        dependencies=tuple(row for n in edges for row in _dependency_rows(state, n)),
        gone_dependencies=edges,
    )


def run_row(state: RunState) -> RunRow:
    """Sum the run up."""
    counts = state.counts
    return RunRow(
        id=state.id,
        name=state.name,
        phase=state.phase,
        goal=state.settings.goal,
        reason=state.reason,
        source=state.source,
        cwd=state.cwd,
        made_by=state.made_by,
        seed=state.settings.seed,
        slots=state.settings.slots,
        created_at_ms=state.created_at_ms,
        updated_at_ms=state.at_ms,
        ended_at_ms=state.ended_at_ms,
        last_event=state.number,
        fence=state.fence,
        tasks=state.planned,
        done=counts[TaskPhase.DONE],
        failed=counts[TaskPhase.FAILED],
        skipped=counts[TaskPhase.SKIPPED],
        cancelled=counts[TaskPhase.CANCELLED],
        active=counts[TaskPhase.ACTIVE],
        attempts=state.spending.attempts,
        cost_usd=state.spending.cost_usd,
        tokens=state.spending.tokens,
    )


def _task_row(task: TaskState, root: TaskState | None) -> TaskRow:
    spec = task.spec
    score = _score_of(task)
    return TaskRow(
        number=task.number,
        id=spec.id,
        key=task.key,
        phase=task.phase,
        description=spec.description,
        command=_command(spec),
        batch=task.batch,
        lane=spec.lane,
        group=spec.group,
        priority=spec.priority,
        attempts=task.attempts,
        tries=task.tries,
        cost_usd=task.cost_usd,
        because=task.because,
        removed=task.removed,
        score=_number(score),
        valid=None if score is None else score.valid,
        gain=_gain(task, None if root is None else _score_of(root)),
    )


def _score_of(task: TaskState) -> Score | None:
    return task.score if task.phase is TaskPhase.DONE else None


def _number(score: Score | None) -> float | None:
    return None if score is None or score.value is None or not math.isfinite(score.value) else score.value


def _gain(task: TaskState, root: Score | None) -> float | None:
    score, scoring = _score_of(task), task.spec.score
    value, base = _number(score), _number(root)
    if score is None or root is None or scoring is None or not (score.valid and root.valid):
        return None
    return None if value is None or base is None else gain(value, base, scoring.direction)


def _command(spec: TaskSpec) -> str:
    if spec.function is not None:
        return spec.function
    if spec.run is None or isinstance(spec.run, str):
        return spec.run or ""
    return msgspec.json.encode(spec.run).decode()


def _open_row(task: int, attempt: AttemptState) -> AttemptRow:
    return AttemptRow(
        task=task,
        number=attempt.number,
        phase=attempt.phase,
        key=attempt.key,
        retry=attempt.retry,
        slot=attempt.slot,
        queued_at_ms=attempt.queued_at_ms,
        started_at_ms=attempt.started_at_ms,
        pid=attempt.pid,
    )


def _ended_row(ended: Ended) -> AttemptRow:
    attempt, event, measure = ended.attempt, ended.event, ended.event.measure
    return AttemptRow(
        task=ended.task,
        number=attempt.number,
        phase=attempt.phase,
        key=attempt.key,
        retry=attempt.retry,
        slot=attempt.slot,
        queued_at_ms=attempt.queued_at_ms,
        started_at_ms=attempt.started_at_ms,
        pid=attempt.pid,
        finished_at_ms=ended.at_ms,
        exit_code=event.exit_code,
        signal=event.signal,
        wall_s=measure.wall_s,
        cpu_s=measure.cpu_s,
        peak_memory_bytes=measure.peak_memory_bytes,
        output_bytes=measure.output_bytes,
        dropped_bytes=measure.dropped_bytes,
        cost_usd=event.usage.cost_usd,
        tokens=event.usage.tokens,
        error=event.error,
        end_event=ended.number,
        score=_number(event.score),
        valid=None if event.score is None else event.score.valid,
    )


def _dependency_rows(state: RunState, number: int) -> list[DependencyRow]:
    hard = [DependencyRow(task=number, needs=n) for n in state.hard[number]]
    taken = set(state.hard[number])
    return hard + [DependencyRow(task=number, needs=n, hard=False) for n in state.soft[number] if n not in taken]
