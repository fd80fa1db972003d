"""A run as a table for spreadsheets and data frames: RFC 4180, UTF-8, one row per attempt.

Columns end up in people's sheets and scripts: new ones are added at the end, none is renamed or moved.
"""

import csv
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import BinaryIO

from budwood._core.rows import AttemptRow, TaskRow
from budwood.cli.moment import Moment, Results
from budwood.project.times import iso

Cell = str | int | float | None

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


@dataclass(frozen=True, slots=True)
class _Row:
    run: str
    task: TaskRow
    attempt: AttemptRow | None = None
    result: str = ""


def text(given: str | int | None) -> Cell:
    """Keep a spreadsheet from calculating what somebody else wrote: an apostrophe makes it text."""
    return f"'{given}" if isinstance(given, str) and given.startswith(_FORMULA) else given


def _tried(cell: Callable[[AttemptRow], Cell]) -> Callable[[_Row], Cell]:
    return lambda row: None if row.attempt is None else cell(row.attempt)


def _duration_s(row: AttemptRow) -> float | None:
    if row.wall_s is not None:
        return row.wall_s
    if row.started_at_ms is None or row.finished_at_ms is None:
        return None
    return max(0, row.finished_at_ms - row.started_at_ms) / 1000


def _truth(given: bool) -> str:
    return "true" if given else "false"


_CELLS: Mapping[str, Callable[[_Row], Cell]] = {
    "run": lambda row: text(row.run),
    "task": lambda row: text(row.task.id),
    "lane": lambda row: text(row.task.lane),
    "batch": lambda row: row.task.batch or None,
    "state": lambda row: row.task.phase.value,
    "attempt": _tried(lambda row: row.number),
    "attempt_state": _tried(lambda row: row.phase.value),
    "started_at": _tried(lambda row: iso(row.started_at_ms)),
    "finished_at": _tried(lambda row: iso(row.finished_at_ms)),
    "duration_s": _tried(_duration_s),
    "cost_usd": _tried(lambda row: row.cost_usd),
    "tokens": _tried(lambda row: row.tokens),
    "exit_code": _tried(lambda row: row.exit_code),
    "error_type": _tried(lambda row: None if row.error is None else text(row.error.type)),
    "error_message": _tried(lambda row: None if row.error is None else text(row.error.message)),
    "result": lambda row: row.result,
    "group": lambda row: text(row.task.group),
    "because": lambda row: text(row.task.because),
    "removed": lambda row: _truth(row.task.removed),
    "queued_at": _tried(lambda row: iso(row.queued_at_ms)),
    "signal": _tried(lambda row: row.signal),
    "cpu_s": _tried(lambda row: row.cpu_s),
    "peak_memory_bytes": _tried(lambda row: row.peak_memory_bytes),
    "output_bytes": _tried(lambda row: row.output_bytes),
    "score": _tried(lambda row: row.score),
    "valid": _tried(lambda row: None if row.valid is None else _truth(row.valid)),
}
COLUMNS = tuple(_CELLS)


class Utf8:
    """Text on its way to a binary stream; what UTF-8 cannot say is escaped."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out

    def write(self, text: str) -> int:
        """Write; as csv wants it."""
        return self._out.write(text.encode("utf-8", "backslashreplace"))


def write_csv(moment: Moment, results: Results, out: BinaryIO) -> None:
    """Write the header, and row after row."""
    writer = csv.writer(Utf8(out))
    writer.writerow(COLUMNS)
    for row in _rows(moment, results):
        writer.writerow([cell(row) for cell in _CELLS.values()])


def _rows(moment: Moment, results: Results) -> Iterator[_Row]:
    """Give the attempts by task and number; a task that was never tried has a row, too."""
    run = moment.run.name
    attempts = {number: list(group) for number, group in groupby(moment.attempts, key=lambda row: row.task)}
    for task in moment.tasks:
        for attempt in attempts.get(task.number, ()):
            yield _Row(run, task, attempt, results.json(attempt.end_event))
        if task.number not in attempts:
            yield _Row(run, task)
