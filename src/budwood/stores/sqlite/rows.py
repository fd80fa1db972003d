"""The SQL of projections, and a row as the values that it takes.

Knows how SQLite binds values; must not know leases or transactions.
"""

import sqlite3
from collections.abc import Sequence

import msgspec

from budwood._core.rows import AttemptRow, DependencyRow, Rows, RunRow, TaskRow
from budwood.stores.columns import ATTEMPT, DEPENDENCY, RUN, TASK, Value


def _upsert(table: str, columns: Sequence[str], *, key: Sequence[str]) -> str:
    changes = ", ".join(f"{column} = excluded.{column}" for column in columns if column not in key)
    return (
        f"INSERT INTO {table} (run, {', '.join(columns)}) VALUES (?{', ?' * len(columns)}) "
        f"ON CONFLICT (run, {', '.join(key)}) DO UPDATE SET {changes}"
    )


UPDATE_RUN = f"UPDATE run SET {', '.join(f'{column} = ?' for column in RUN)} WHERE number = ?"
PUT_TASK = _upsert("task", TASK, key=("number",))
PUT_ATTEMPT = _upsert("attempt", ATTEMPT, key=("task", "number"))
PUT_DEPENDENCY = _upsert("dependency", DEPENDENCY, key=("task", "needs"))
DROP_DEPENDENCIES = "DELETE FROM dependency WHERE run = ? AND task = ?"

SELECT_RUNS = f"SELECT id, name, source, {', '.join(RUN)} FROM run ORDER BY number"
SELECT_TASKS = f"SELECT {', '.join(TASK)} FROM task WHERE run = ? ORDER BY number"
SELECT_ATTEMPTS = f"SELECT {', '.join(ATTEMPT)} FROM attempt WHERE run = ? ORDER BY task, number"
SELECT_ATTEMPTS_OF_TASK = f"SELECT {', '.join(ATTEMPT)} FROM attempt WHERE run = ? AND task = ? ORDER BY number"
SELECT_DEPENDENCIES = f"SELECT {', '.join(DEPENDENCY)} FROM dependency WHERE run = ? ORDER BY task, needs"

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
    # fmt: off
    return (
        run, row.number, row.id, row.key, row.phase.value, row.description, row.command, row.batch, row.lane,
        row.group, row.priority, row.attempts, row.tries, row.cost_usd, row.because, int(row.removed),
        row.score, row.valid, row.gain,
    )
    # fmt: on


def attempt_values(run: int, row: AttemptRow) -> tuple[Value, ...]:
    """Give what PUT_ATTEMPT takes."""
    error = None if row.error is None else msgspec.json.encode(row.error).decode()
    # fmt: off
    return (
        run, row.task, row.number, row.phase.value, row.key, row.retry, row.slot, row.queued_at_ms,
        row.started_at_ms, row.finished_at_ms, row.pid, row.exit_code, row.signal, row.wall_s, row.cpu_s,
        row.peak_memory_bytes, row.output_bytes, row.dropped_bytes, row.cost_usd, row.tokens, error, row.end_event,
        row.score, row.valid,
    )
    # fmt: on


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
