"""From the driver's thread to the main one: each commit as a small parcel, handed over without waiting.

The driver calls it after every commit, so it copies a few numbers and nothing more. Knows events and state; must not
know views.
"""

from collections import deque
from collections.abc import Callable, Sequence

from msgspec import Struct

from budwood._core.events import Recorded, about
from budwood._core.model import ENDED_TASK, TaskPhase
from budwood._core.state import AttemptState, RunState
from budwood.strategies.progress import SearchProgress, Tally


class Running(Struct, frozen=True):
    """An attempt that is open."""

    task: str
    slot: int
    began_at_ms: int
    says: str = ""
    """What it asks, or how far it says that it has come."""
    asks: bool = False


class News(Struct, frozen=True, kw_only=True):
    """One commit, and where the run stood after it."""

    events: Sequence[Recorded]
    counts: dict[TaskPhase, int]
    cost_usd: float
    attempts: int
    name: str
    slots: int
    calls: bool = False
    """Whether some of its tasks may be calls of functions."""
    running: tuple[Running, ...] | None = None
    """Everything that is open; only in the first parcel, because a driver before this one may have started it."""
    search: SearchProgress | None = None
    """How far a search has come; None in a plan."""
    untold: int = 0
    """Attempts that did not say what they cost."""

    @property
    def planned(self) -> int:
        """How many tasks the run wants."""
        return sum(self.counts.values())

    @property
    def ended(self) -> int:
        """How many of them have ended."""
        return sum(self.counts[phase] for phase in ENDED_TASK)


class Feed:
    """A listener for the driver; rings when there is something to fetch, once until it is fetched."""

    def __init__(self, ring: Callable[[], None]) -> None:
        self._ring = ring
        self._parcels: deque[News] = deque()
        self._rung = False
        self._first = True
        self._tally: Tally | None = None

    def __call__(self, events: Sequence[Recorded], state: RunState) -> None:
        running = None
        if self._first:
            self._first = False
            running = tuple(_running(state))
            self._tally = Tally.of(state)
        elif self._tally is not None:
            changed = {str(name): None for recorded in events for name in about(recorded.event)}
            self._tally.take(state, [state.by_id[name] for name in changed if name in state.by_id])
        self._parcels.append(
            News(
                events=events,
                counts=state.counts.copy(),
                cost_usd=state.spending.cost_usd,
                untold=state.spending.untold,
                attempts=state.spending.attempts,
                name=state.name,
                slots=state.settings.slots,
                calls=bool(state.settings.python),
                running=running,
                search=None if self._tally is None else self._tally.progress(),
            )
        )
        if not self._rung:
            self._rung = True
            self._ring()

    def fetch(self) -> list[News]:
        """Take what has come, oldest first; from the main thread."""
        self._rung = False  # before looking: what comes meanwhile rings again
        parcels = []
        while self._parcels:
            parcels.append(self._parcels.popleft())
        return parcels


def _running(state: RunState) -> list[Running]:
    return [_running_one(str(task.spec.id), task.attempt) for task in state.open.values() if task.attempt is not None]


def _running_one(task: str, attempt: AttemptState) -> Running:
    asks, progress = attempt.asks, attempt.progress
    says = asks.text if asks is not None else "" if progress is None else progress.words
    return Running(task, attempt.slot, attempt.started_at_ms or attempt.queued_at_ms, says, asks is not None)
