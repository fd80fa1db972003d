"""The JSON shapes of runs, tasks and attempts: the same in every command. docs/reference/commands.md lists them.

Knows the rows. Names end up in people's scripts: they are added to, never changed.
"""

from msgspec.structs import asdict

from budwood._core.model import TaskId
from budwood._core.rows import AttemptRow, RunRow, TaskRow
from budwood.cli.times import iso

_TIMES = ("created_at", "updated_at", "ended_at", "queued_at", "started_at", "finished_at")

Shape = dict[str, object]


def run_shape(row: RunRow, *, driver: str | None) -> Shape:
    """Describe a run; `driver` is who drives it now."""
    return {**_with_times(asdict(row)), "driver": driver}


def task_shape(row: TaskRow) -> Shape:
    """Describe a task."""
    return asdict(row)


def attempt_shape(row: AttemptRow, *, task: TaskId) -> Shape:
    """Describe an attempt, its task by id."""
    error = None if row.error is None else asdict(row.error)
    return {**_with_times(asdict(row)), "task": task, "error": error}


def _with_times(fields: Shape) -> Shape:
    """Replace milliseconds by times that people and programs read alike."""
    shape: Shape = {}
    for name, value in fields.items():
        plain = name.removesuffix("_ms")
        shape[plain if plain in _TIMES else name] = iso(value) if plain in _TIMES and isinstance(value, int) else value
    return shape
