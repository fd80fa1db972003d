"""Rows in tables: which columns they have, and how what was found in them becomes a row again.

What the SQL backends share; each writes them in its own way. Knows the rows; must not know any database.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, TypeVar

import msgspec

from budwood._core.model import AttemptError, AttemptPhase, RunPhase, TaskPhase
from budwood._core.rows import AttemptRow, DependencyRow, RunRow, TaskRow
from budwood.errors import UnknownEvent
from budwood.stores.base import Request

Phase = TypeVar("Phase", bound=str)
Value = str | int | float | bytes | None

RUN = (
    *("state", "goal", "reason", "cwd", "made_by", "seed", "slots", "created_at_ms", "updated_at_ms", "ended_at_ms"),
    *("last_event", "fence", "tasks", "done", "failed", "skipped", "cancelled", "active", "attempts", "cost_usd"),
    "tokens",
)
"""What a commit writes of a run; id, name and source stay as they were claimed."""
TASK = (
    *("number", "id", "key", "state", "description", "command", "batch", "lane", "group_name", "priority"),
    *("attempts", "tries", "cost_usd", "because", "removed", "score", "valid", "gain"),
)
ATTEMPT = (
    *("task", "number", "state", "key", "retry", "slot", "queued_at_ms", "started_at_ms", "finished_at_ms", "pid"),
    *("exit_code", "signal", "wall_s", "cpu_s", "peak_memory_bytes", "output_bytes", "dropped_bytes", "cost_usd"),
    *("tokens", "error", "end_event", "score", "valid"),
)
DEPENDENCY = ("task", "needs", "hard")
REQUEST = ("number", "kind", "key", "body", "state", "answer")

_RUN_FIELDS = ("id", "name", "source", *RUN)
_TASK_FIELDS = tuple("group" if column == "group_name" else column for column in TASK)
_RUN_PHASES = {phase.value: phase for phase in RunPhase}
_TASK_PHASES = {phase.value: phase for phase in TaskPhase}
_ATTEMPT_PHASES = {phase.value: phase for phase in AttemptPhase}


def run_rows(found: Iterable[Sequence[Value]]) -> list[RunRow]:
    """Read id, name, source and the columns RUN."""
    rows = []
    for values in found:
        fields = dict(zip(_RUN_FIELDS, values, strict=True))
        fields["phase"] = _phase(_RUN_PHASES, fields.pop("state"), f"run {fields['id']!r}")
        rows.append(RunRow(**fields))  # type: ignore[arg-type]  # the tables hold the columns to their types
    return rows


def task_rows(found: Iterable[Sequence[Value]]) -> list[TaskRow]:
    """Read the columns TASK."""
    rows = []
    for values in found:
        fields = dict(zip(_TASK_FIELDS, values, strict=True))
        fields["phase"] = _phase(_TASK_PHASES, fields.pop("state"), f"task {fields['id']!r}")
        fields["removed"] = bool(fields["removed"])
        fields["valid"] = _said(fields["valid"])
        rows.append(TaskRow(**fields))  # type: ignore[arg-type]  # as above
    return rows


def attempt_rows(found: Iterable[Sequence[Value]]) -> list[AttemptRow]:
    """Read the columns ATTEMPT."""
    rows = []
    for values in found:
        fields = dict(zip(ATTEMPT, values, strict=True))
        error = fields.pop("error")
        fields["phase"] = _phase(
            _ATTEMPT_PHASES, fields.pop("state"), f"attempt {fields['number']!r} of task {fields['task']!r}"
        )
        fields["valid"] = _said(fields["valid"])
        why = msgspec.json.decode(error, type=AttemptError) if isinstance(error, str) else None
        rows.append(AttemptRow(**fields, error=why))  # type: ignore[arg-type]  # as above
    return rows


def dependency_rows(found: Iterable[Sequence[int]]) -> list[DependencyRow]:
    """Read the columns DEPENDENCY."""
    return [DependencyRow(task=task, needs=needs, hard=bool(hard)) for task, needs, hard in found]


def request_row(run: str, values: tuple[int, str, str, str, Literal["pending", "taken", "refused"], str]) -> Request:
    """Read the columns REQUEST."""
    number, kind, key, body, state, answer = values
    return Request(id=number, run=run, kind=kind, key=key, body=body, state=state, answer=answer)


def _said(value: Value) -> bool | None:
    return None if value is None else bool(value)


def _phase(known: Mapping[str, Phase], value: Value, whose: str) -> Phase:
    try:
        return known[str(value)]
    except KeyError:
        raise UnknownEvent(f"{whose} is in state {value!r}, which this version does not know") from None
