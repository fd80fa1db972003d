"""A run as its store has it, read from any thread: a store object of its own for each look, closed right after it.

Knows stores. Must not know who drives. After a fork the copy in the child refuses: what it would read with belongs to
the parent.
"""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice

from budwood._core.events import Recorded
from budwood._core.model import ENDED_RUN, TaskId
from budwood._core.replay import fold
from budwood._core.rows import AttemptRow, RunRow, TaskRow
from budwood._core.state import RunState
from budwood._core.suggest import did_you_mean
from budwood.api.views import Rows
from budwood.engine.verdict import Verdict, reach_verdict
from budwood.errors import NoSuchId, UsageError
from budwood.stores import Store

LOOK_EVERY_S = 0.25
"""How often it is looked whether another process's driver has died; what that does is heard of at once."""
PAGE = 500


class Look:
    """Reads one run."""

    def __init__(self, store: Store, *, run: str, name: str) -> None:
        self._origin = store
        self._pid = os.getpid()
        self.run = run
        self.name = name

    def refuse_fork(self) -> None:
        """Refuse to be used in a forked child."""
        if os.getpid() != self._pid:
            raise UsageError(
                f"this object of run {self.name} belongs to process {self._pid}, which this one was forked from",
                hint=f'budwood.open_run("{self.name}") opens the run here',
            )

    def open(self) -> Store:
        """Open the run's store once more; to be closed by who opened it."""
        self.refuse_fork()
        return self._origin.reopen()

    def row(self, store: Store) -> RunRow:
        """Read the run at a glance."""
        for row in store.runs():
            if row.id == self.run:
                return row
        raise NoSuchId(f"run {self.name} is no longer in {store.where}")

    def task(self, tasks: Sequence[TaskRow], wanted: TaskId) -> TaskRow:
        """Find a task by its id."""
        for row in tasks:
            if str(row.id) == str(wanted) and not row.removed:
                return row
        hint = did_you_mean(str(wanted), [str(row.id) for row in tasks]) or "run.tasks() lists its tasks"
        raise NoSuchId(f"run {self.name} has no task {str(wanted)!r}", hint=hint)

    @contextmanager
    def rows(self) -> Iterator[tuple[Store, Rows]]:
        """Read tasks and attempts."""
        with self.open() as store:
            yield store, Rows(store.tasks(self.run), store.attempts(self.run))

    def state(self) -> RunState:
        """Fold the run's events."""
        with self.open() as store:
            return fold(store.read(self.run))

    def state_and_attempts(self) -> tuple[RunState, list[AttemptRow]]:
        """Fold the run's events, and read its attempts, which may be newer."""
        with self.open() as store:
            return fold(store.read(self.run)), store.attempts(self.run)

    def rests(self, store: Store) -> bool:
        """Say whether nothing happens to the run until somebody drives it."""
        return self.row(store).phase in ENDED_RUN or store.holder(self.run) is None

    def page(self, after: int, *, wait_s: float) -> tuple[list[Recorded], bool]:
        """Read the next events behind a number, waiting a while for the first; and say whether these are the last."""
        with self.open() as store:
            rests = self.rests(store)  # before reading: what was written until then is read
            if not rests and wait_s:
                store.wait(self.run, after=after, timeout_s=wait_s)
            events = list(islice(store.read(self.run, after), PAGE))
            return events, rests and len(events) < PAGE

    def verdict(self, *, wait_s: float = 0.0) -> Verdict | None:
        """Sum the run up, waiting a while until it rests; None while somebody drives it."""
        until_s = time.monotonic() + wait_s
        with self.open() as store:
            while not self.rests(store):
                left_s = min(until_s - time.monotonic(), LOOK_EVERY_S)
                if left_s <= 0:
                    return None
                store.wait(self.run, after=self.row(store).last_event, timeout_s=left_s)
            return reach_verdict(fold(store.read(self.run)))
