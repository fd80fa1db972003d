"""The SQL of projections: a row struct to its table's columns and back.

Knows the columns of run, task, attempt and dependency; must not know leases or transactions.
"""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

import msgspec

from budwood._core.model import AttemptError, AttemptPhase, RunPhase, TaskPhase
from budwood._core.rows import AttemptRow, DependencyRow, Rows, RunRow, TaskRow
from budwood.errors import UnknownEvent

Phase = TypeVar("Phase", bound=str)
Value = str | int | float | bytes | None

_RUN = (
    *("state", "goal", "reason", "cwd", "made_by", "seed", "slots", "created_at_ms", "updated_at_ms", "ended_at_ms"),
    *(
        "last_event",
        "fence",
        "tasks",
        "done",
        "failed",
        "skipped",
        "cancelled",
        "active",
        "attempts",
        "cost_usd",
        "tokens",
    ),
)
_TASK = (
    *("number", "id", "key", "state", "description", "command", "lane", "group_name", "priority", "attempts", "tries"),
    *("cost_usd", "because", "removed"),
)
_ATTEMPT = (
    *("task", "number", "state", "key", "retry", "slot", "queued_at_ms", "started_at_ms", "finished_at_ms", "pid"),
    *(
        "exit_code",
        "signal",
        "wall_s",
        "cpu_s",
        "peak_memory_bytes",
        "output_bytes",
        "dropped_bytes",
        "cost_usd",
        "tokens",
    ),
    "error",
)
_DEPENDENCY = ("task", "needs", "hard")


def _upsert(table: str, columns: Sequence[str], *, key: Sequence[str]) -> str:
    changes = ", ".join(f"{column} = excluded.{column}" for column in columns if column not in key)
    return (
        f"INSERT INTO {table} (run, {', '.join(columns)}) VALUES (?{', ?' * len(columns)}) "
        f"ON CONFLICT (run, {', '.join(key)}) DO UPDATE SET {changes}"
    )


UPDATE_RUN = f"UPDATE run SET {', '.join(f'{column} = ?' for column in _RUN)} WHERE number = ?"
PUT_TASK = _upsert("task", _TASK, key=("number",))
PUT_ATTEMPT = _upsert("attempt", _ATTEMPT, key=("task", "number"))
PUT_DEPENDENCY = _upsert("dependency", _DEPENDENCY, key=("task", "needs"))
DROP_DEPENDENCIES = "DELETE FROM dependency WHERE run = ? AND task = ?"

SELECT_RUNS = f"SELECT id, name, source, {', '.join(_RUN)} FROM run ORDER BY number"
SELECT_TASKS = f"SELECT {', '.join(_TASK)} FROM task WHERE run = ? ORDER BY number"
SELECT_ATTEMPTS = f"SELECT {', '.join(_ATTEMPT)} FROM attempt WHERE run = ? ORDER BY task, number"
SELECT_ATTEMPTS_OF_TASK = f"SELECT {', '.join(_ATTEMPT)} FROM attempt WHERE run = ? AND task = ? ORDER BY number"
SELECT_DEPENDENCIES = f"SELECT {', '.join(_DEPENDENCY)} FROM dependency WHERE run = ? ORDER BY task, needs"

# `.value`: for what is not exactly a str sqlite3 looks for an adapter, which takes longer than binding it.


def run_values(number: int, row: RunRow) -> tuple[Value, ...]:
    """Give what UPDATE_RUN takes; id, name and source stay as they were claimed."""
    return (
        *(row.phase.value, row.goal, row.reason, row.cwd, row.made_by, row.seed, row.slots),
        *(row.created_at_ms, row.updated_at_ms, row.ended_at_ms, row.last_event, row.fence, row.tasks, row.done),
        *(row.failed, row.skipped, row.cancelled, row.active, row.attempts, row.cost_usd, row.tokens, number),
    )


def task_values(run: int, row: TaskRow) -> tuple[Value, ...]:
    """Give what PUT_TASK takes."""
    return (
        *(run, row.number, row.id, row.key, row.phase.value, row.description, row.command, row.lane, row.group),
        *(row.priority, row.attempts, row.tries, row.cost_usd, row.because, int(row.removed)),
    )


def attempt_values(run: int, row: AttemptRow) -> tuple[Value, ...]:
    """Give what PUT_ATTEMPT takes."""
    error = None if row.error is None else msgspec.json.encode(row.error).decode()
    return (
        *(run, row.task, row.number, row.phase.value, row.key, row.retry, row.slot, row.queued_at_ms),
        *(row.started_at_ms, row.finished_at_ms, row.pid, row.exit_code, row.signal, row.wall_s, row.cpu_s),
        *(row.peak_memory_bytes, row.output_bytes, row.dropped_bytes, row.cost_usd, row.tokens, error),
    )


def dependency_values(run: int, row: DependencyRow) -> tuple[Value, ...]:
    """Give what PUT_DEPENDENCY takes."""
    return (run, row.task, row.needs, int(row.hard))


def put_rows(connection: sqlite3.Connection, run: int, changed: Rows) -> None:
    """Write what a commit changed, and nothing else, inside its transaction."""
    connection.execute(UPDATE_RUN, run_values(run, changed.run))
    if changed.tasks:
        connection.executemany(PUT_TASK, [task_values(run, row) for row in changed.tasks])
    if changed.attempts:
        connection.executemany(PUT_ATTEMPT, [attempt_values(run, row) for row in changed.attempts])
    if changed.gone_dependencies:
        connection.executemany(DROP_DEPENDENCIES, [(run, task) for task in changed.gone_dependencies])
    if changed.dependencies:
        connection.executemany(PUT_DEPENDENCY, [dependency_values(run, row) for row in changed.dependencies])


_RUN_FIELDS = ("id", "name", "source", *_RUN)
_TASK_FIELDS = tuple("group" if column == "group_name" else column for column in _TASK)
_RUN_PHASES = {phase.value: phase for phase in RunPhase}
_TASK_PHASES = {phase.value: phase for phase in TaskPhase}
_ATTEMPT_PHASES = {phase.value: phase for phase in AttemptPhase}


def run_rows(found: Iterable[Sequence[Value]]) -> list[RunRow]:
    """Read what SELECT_RUNS found."""
    rows = []
    for values in found:
        fields = dict(zip(_RUN_FIELDS, values, strict=True))
        fields["phase"] = _phase(_RUN_PHASES, fields.pop("state"), f"run {fields['id']!r}")
        rows.append(RunRow(**fields))  # type: ignore[arg-type]  # STRICT tables hold the columns to their types
    return rows


def task_rows(found: Iterable[Sequence[Value]]) -> list[TaskRow]:
    """Read what SELECT_TASKS found."""
    rows = []
    for values in found:
        fields = dict(zip(_TASK_FIELDS, values, strict=True))
        fields["phase"] = _phase(_TASK_PHASES, fields.pop("state"), f"task {fields['id']!r}")
        fields["removed"] = bool(fields["removed"])
        rows.append(TaskRow(**fields))  # type: ignore[arg-type]  # as above
    return rows


def attempt_rows(found: Iterable[Sequence[Value]]) -> list[AttemptRow]:
    """Read what SELECT_ATTEMPTS found."""
    rows = []
    for values in found:
        *plain, error = values
        fields = dict(zip(_ATTEMPT, plain, strict=False))
        fields["phase"] = _phase(
            _ATTEMPT_PHASES, fields.pop("state"), f"attempt {fields['number']!r} of task {fields['task']!r}"
        )
        why = msgspec.json.decode(error, type=AttemptError) if isinstance(error, str) else None
        rows.append(AttemptRow(**fields, error=why))  # type: ignore[arg-type]  # as above
    return rows


def dependency_rows(found: Iterable[Sequence[int]]) -> list[DependencyRow]:
    """Read what SELECT_DEPENDENCIES found."""
    return [DependencyRow(task=task, needs=needs, hard=bool(hard)) for task, needs, hard in found]


def _phase(known: Mapping[str, Phase], value: Value, whose: str) -> Phase:
    try:
        return known[str(value)]
    except KeyError:
        raise UnknownEvent(f"{whose} is in state {value!r}, which this version does not know") from None
