"""Answers requests of a run that nobody drives: takes the lease for a moment, does what was asked, and leaves.

Knows requests, the engine's driver and whom a run tells. How such a drive is watched meanwhile is its caller's.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from budwood.engine.driver import Driver, Listener, Opening
from budwood.engine.opening import go_on
from budwood.executors.base import Executor
from budwood.project.asking import Asked, until_cancelled
from budwood.project.executing import make_executor
from budwood.project.place import holder, project_of, this_machine
from budwood.project.telling import LEAVE_WITHIN_S, Say, Telling, both
from budwood.settings import run_settings
from budwood.stores import Request, Store


class Lone(Protocol):
    """A drive that starts nothing."""

    @property
    def driver(self) -> Driver: ...

    def go(self, opening: Opening) -> object:
        """Drive until it leaves."""


class Watch(Protocol):
    """Makes a lone drive, watched in some way."""

    def __call__(self, store: Store, executor: Executor, *, run: str, listener: Listener) -> Lone: ...


class Unwatched:
    """A lone drive in the thread of whoever asked."""

    def __init__(self, store: Store, executor: Executor, *, run: str, listener: Listener) -> None:
        self.driver = Driver(store, executor, run=run, holder=holder(), listener=listener)

    def go(self, opening: Opening) -> object:
        """Drive until it leaves."""
        return self.driver.drive(opening)


class Alone:
    """Who answers requests of a run that nobody drives; `say` hears what went wrong with telling others."""

    def __init__(
        self,
        asked: Asked,
        *,
        watch: Watch = Unwatched,
        notify: str | None = None,
        say: Say = lambda text: None,
    ) -> None:
        self._asked = asked
        self._watch = watch
        self._notify = notify
        self._say = say

    def record(self) -> None:
        """Answer what was asked and leave: nothing starts, and what runs goes on under its supervisors."""
        with self._lone() as work:
            work.driver.stop(now="answered a request")
            work.go(go_on(unpause=False))

    def cancel(self, request: Request, *, whole: bool) -> None:
        """Cancel, and return when the processes of what was cancelled are gone. Nothing else starts."""
        listener = until_cancelled(request, whole=whole, leave=lambda why: work.driver.stop(now=why))
        with self._lone(listener) as work:
            work.driver.stop()
            work.go(go_on(unpause=False))

    @contextmanager
    def _lone(self, listener: Listener | None = None) -> Iterator[Lone]:
        """Make a driver for a moment; a web address that is told of the run's events is told of these, too."""
        row, store, project = self._asked.row, self._asked.store, project_of(self._asked.row)
        settings = run_settings(self._asked.resolved, this_machine())
        executor = make_executor(project, row.id, settings, store=store.address)
        telling = Telling(project, run=row.id, open_store=store.reopen, given=self._notify)
        yield self._watch(store, executor, run=row.id, listener=both(telling, listener))
        problem = telling.leave(within_s=LEAVE_WITHIN_S)
        if problem is not None:
            self._say(problem)
