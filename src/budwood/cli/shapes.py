"""The JSON shapes of runs, tasks and attempts: the same in every command. docs/reference/commands.md lists them.

Knows the rows. Names end up in people's scripts: they are added to, never changed.
"""

import msgspec

from budwood._core.model import TaskId
from budwood._core.rows import AttemptRow, RunRow, TaskRow
from budwood.project.times import iso

_TIMES = ("created_at", "updated_at", "ended_at", "queued_at", "started_at", "finished_at")

Shape = dict[str, object]


def run_shape(row: RunRow, *, driver: str | None) -> Shape:
    """Describe a run; `driver` is who drives it now."""
    return {**_public(row), "driver": driver}


def task_shape(row: TaskRow) -> Shape:
    """Describe a task."""
    return _public(row)


def attempt_shape(row: AttemptRow, *, task: TaskId) -> Shape:
    """Describe an attempt, its task by id; its score is its end's to tell, whole."""
    shape = {**_public(row), "task": task}
    del shape["score"], shape["valid"]
    return shape


def _public(row: RunRow | TaskRow | AttemptRow) -> Shape:
    """Give fields their public names, and times a form that people and programs read alike."""
    shape: Shape = {}
    for name, value in msgspec.to_builtins(row).items():
        plain = name.removesuffix("_ms")
        shape[plain if plain in _TIMES else name] = iso(value) if plain in _TIMES and isinstance(value, int) else value
    return shape
