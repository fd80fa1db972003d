"""A run as it stood at one moment, also while somebody drives it: its tasks, its attempts, what its functions returned.

Knows the store. Must not know how it is shown.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile
from tempfile import SpooledTemporaryFile

from msgspec import UNSET

from budwood._core.events import AttemptEnded, Recorded
from budwood._core.replay import fold_rows
from budwood._core.rows import AttemptRow, RunRow, TaskRow
from budwood.project.find import find_run
from budwood.stores import Store

_IN_MEMORY = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Moment:
    """All of it belongs together."""

    run: RunRow
    tasks: list[TaskRow]
    attempts: list[AttemptRow]


def read_moment(store: Store, run: RunRow) -> Moment:
    """Read a run's rows; if something was written meanwhile, refold what had happened when it began."""
    before = find_run(store, run.id)
    tasks, attempts = store.tasks(run.id), store.attempts(run.id)
    if find_run(store, run.id).last_event == before.last_event:
        return Moment(before, tasks, attempts)
    rows = fold_rows(events_until(store, before))
    return Moment(before, list(rows.tasks), list(rows.attempts))


def events_until(store: Store, run: RunRow) -> Iterator[Recorded]:
    """Give the events that the run's row knows of, and none that came later."""
    return takewhile(lambda recorded: recorded.number <= run.last_event, store.read(run.id))


class Results:
    """What functions returned, found by the number of the event that has it; large ones are kept on disk."""

    def __init__(self, events: Iterator[Recorded]) -> None:
        self._file = SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115 it lives as long as we do
        self._places: dict[int, tuple[int, int]] = {}
        for recorded in events:
            event = recorded.event
            if isinstance(event, AttemptEnded) and event.result is not UNSET:
                data = bytes(event.result)
                self._places[recorded.number] = self._file.tell(), len(data)
                self._file.write(data)

    def json(self, number: int | None) -> str:
        """Return a result as JSON; nothing if there is none."""
        if number not in self._places:
            return ""
        start, size = self._places[number]
        self._file.seek(start)
        return self._file.read(size).decode()

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()
