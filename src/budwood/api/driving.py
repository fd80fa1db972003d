"""A driver at work in a thread of its own, and what the rest of the program may ask of it meanwhile.

The store that it is given is the thread's, and closed by it. Knows the engine; must not know how a program waits, or
what it does with events.
"""

import threading
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from budwood._core.events import Recorded
from budwood._core.model import RunPhase, TaskPhase
from budwood._core.state import RunState
from budwood.api import process
from budwood.api.hearing import Hearing
from budwood.api.latch import Latch
from budwood.engine.driver import Driver, Listener, Opening
from budwood.engine.verdict import Verdict
from budwood.errors import LeaseHeld
from budwood.executors.base import Executor
from budwood.project.place import holder
from budwood.project.telling import LEAVE_WITHIN_S, Telling
from budwood.stores import Store
from budwood.strategies import Strategy


@dataclass(frozen=True, slots=True)
class Glance:
    """Where a run stood after its last commit."""

    phase: RunPhase
    counts: dict[TaskPhase, int]
    cost_usd: float
    driven_ms: int
    drive_at_ms: int | None

    def driven_s(self) -> float:
        """Say for how long drivers have driven it."""
        now_ms = time.time_ns() // 1_000_000
        return (self.driven_ms + (0 if self.drive_at_ms is None else max(0, now_ms - self.drive_at_ms))) / 1000


def glance_at(state: RunState) -> Glance:
    """Copy a few numbers of a state that goes on changing."""
    return Glance(
        phase=state.phase,
        counts=state.counts.copy(),
        cost_usd=state.spending.cost_usd,
        driven_ms=state.driven_ms,
        drive_at_ms=state.drive_at_ms,
    )


class Driving:
    """One drive of one run."""

    def __init__(
        self,
        store: Store,
        executor: Executor,
        *,
        run: str,
        name: str,
        strategy: Strategy | None,
        telling: Telling,
        hearing: Hearing | None,
    ) -> None:
        self.run = run
        self.name = name
        self.hearing = hearing
        self._telling = telling
        self.over = Latch()
        """Set when the driver has left."""
        self.stopping = False
        self.glance: Glance | None = None
        self.verdict: Verdict | None = None
        self.failure: BaseException | None = None
        """What the driver raised, if it did not leave in good order."""
        self._store = store
        self._driver = Driver(store, executor, run=run, holder=holder(), listener=self._hear, strategy=strategy)
        self._begun = Latch()
        self._listeners: tuple[Listener, ...] = ()
        self._lock = threading.Lock()

    def begin(self, opening: Opening) -> None:
        """Begin to drive, and return when the run is under way; what goes wrong until then is raised here."""
        self._thread = threading.Thread(target=self._drive, args=(opening,), name=f"budwood {self.name}", daemon=True)
        process.enter(self)
        try:
            if self.hearing is not None:
                self.hearing.begin()
            self._thread.start()
            self._begun.wait()
        except BaseException:  # Ctrl-C, or no more threads: nobody would ever hear of this drive
            self.stop(now="interrupted")
            if self._thread.ident is None:
                self._leave()
            raise
        if self.failure is not None and self.glance is None:
            self._thread.join()
            raise self._named(self.failure)

    def _named(self, failure: BaseException) -> BaseException:
        return LeaseHeld(self.name, holder=failure.holder) if isinstance(failure, LeaseHeld) else failure

    def stop(self, *, now: str = "") -> None:
        """Start nothing new and leave when what runs has ended; with a reason, leave at once."""
        self.stopping = True
        self._driver.stop(now=now)

    def join(self, timeout_s: float) -> bool:
        """Wait until the driver has left; say whether it has."""
        return self.over.wait(timeout_s)

    def attach(self, listener: Listener) -> Callable[[], None]:
        """Let somebody listen, from the driver's thread; return what ends it."""
        with self._lock:
            self._listeners = (*self._listeners, listener)

        def detach() -> None:
            with self._lock:
                self._listeners = tuple(each for each in self._listeners if each is not listener)

        return detach

    def _drive(self, opening: Opening) -> None:
        try:
            self.verdict = self._driver.drive(opening)
            _warn(self._telling.finish(self.verdict))
        except BaseException as error:  # it is raised again where somebody waits
            self.failure = error
            self._telling.leave(within_s=LEAVE_WITHIN_S)
        finally:
            self._leave()

    def _leave(self) -> None:
        self._store.close()
        if self.hearing is not None:
            self.hearing.finish()
        process.leave(self)
        self.over.set()
        self._begun.set()

    def _hear(self, events: Sequence[Recorded], state: RunState) -> None:
        self.glance = glance_at(state)
        self._telling(events, state)
        if self.hearing is not None:
            self.hearing(events)
        for listener in self._listeners:
            listener(events, state)
        if not self._begun.is_set:
            self._begun.set()


def _warn(problem: str | None) -> None:
    """Say what went wrong with telling somebody of the run; it is no reason for the run to fail."""
    if problem is None:
        return
    try:
        warnings.warn(problem, RuntimeWarning, stacklevel=2)
    except RuntimeWarning:  # where warnings are errors: this thread has nobody to raise it to
        return
