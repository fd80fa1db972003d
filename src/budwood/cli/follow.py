"""Following the logs of attempts that run, wherever they are driven.

Looks at files and at the store, several times a second; nobody is disturbed. Knows when nothing more will come.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import sleep

from budwood._core.model import ENDED_RUN, OPEN_ATTEMPT, RunPhase
from budwood._core.rows import AttemptRow, RunRow
from budwood.cli.found import Found, look_for
from budwood.cli.logs import LogTail, attempt_dir, read_log
from budwood.stores import Store

LOOK_EVERY_S = 0.1

Place = tuple[int, int]
"""Task and attempt, by number."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Something that one attempt printed; `ended` says that it was the last."""

    attempt: AttemptRow
    data: bytes
    ended: bool = False


class Follower:
    """Follows the attempts of one run, or of one of its tasks."""

    def __init__(self, store: Store, run: RunRow, run_dir: Path) -> None:
        self._store = store
        self._run = run
        self._run_dir = run_dir
        self._tails: dict[Place, LogTail] = {}
        self._over: set[Place] = set()

    def follow_one(self, task: int, number: int | None) -> Iterator[Piece]:
        """Follow one attempt until it ends: the given one, or the task's newest, waiting for it to begin."""
        while True:
            rows = self._store.attempts(self._run.id, task)
            wanted = [row for row in rows if number in (None, row.number)]
            if wanted:
                row, number = wanted[-1], wanted[-1].number
                yield from self._look(row)
                if (row.task, row.number) in self._over:
                    return
            elif self._rests():
                return
            sleep(LOOK_EVERY_S)

    def follow_all(self) -> Iterator[Piece]:
        """Follow every attempt that runs now or begins from now on, until the run rests."""
        old = {(row.task, row.number) for row in self._store.attempts(self._run.id) if row.phase not in OPEN_ATTEMPT}
        last = -1
        rows: list[AttemptRow] = []
        while True:
            resting = self._rests()
            row = self._row()
            if row.last_event != last:  # the list of attempts is long; it is read only when something has happened
                last, rows = row.last_event, self._store.attempts(self._run.id)
            for attempt in rows:
                place = attempt.task, attempt.number
                if place not in old and place not in self._over:
                    yield from self._look(attempt)
            if resting:
                return
            sleep(LOOK_EVERY_S)

    def _look(self, row: AttemptRow) -> Iterator[Piece]:
        place = row.task, row.number
        tail = self._tails.setdefault(place, LogTail(attempt_dir(self._run_dir, row)))
        if row.phase in OPEN_ATTEMPT and not self._is_lost(row):
            added = tail.read()
            if added:
                yield Piece(row, added)
            return
        whole = read_log(self._store, self._run.id, self._run_dir, row) or b""
        self._over.add(place)
        yield Piece(row, tail.rest(whole, dropped_bytes=row.dropped_bytes or 0), ended=True)

    def _is_lost(self, row: AttemptRow) -> bool:
        """Say whether an open attempt has ended or died with nobody there to record it."""
        if self._store.holder(self._run.id) is not None:
            return False
        begun = row.started_at_ms is not None
        found = look_for(self._run_dir, task=row.task, attempt=row.number, slot=row.slot, begun=begun)
        return found is not Found.RUNNING

    def _rests(self) -> bool:
        row = self._row()
        if row.phase in ENDED_RUN:
            return True
        if row.phase is RunPhase.PAUSED and not row.active:
            return True
        if self._store.holder(self._run.id) is not None:
            return False
        return all(self._is_lost(each) for each in self._store.attempts(self._run.id) if each.phase in OPEN_ATTEMPT)

    def _row(self) -> RunRow:
        return next(row for row in self._store.runs() if row.id == self._run.id)
