"""A run whose events a webhook hears of, without a driver."""

import time
from collections.abc import Callable

from budwood._core.events import DriverSeen, Event, RunCreated, TasksAdded
from budwood._core.model import RunSettings, TaskSpec
from budwood._core.state import RunState
from budwood.engine.clock import Clock
from budwood.engine.journal import Journal
from budwood.project.webhook import Pace, Webhook
from budwood.stores import Store

RUN = "aaaaaaaaaa"
QUICK = Pace(gather_s=0.01, first_retry_s=0.01, longest_retry_s=0.05, request_s=5.0)
WITHIN_S = 20.0
Hook = Callable[..., Webhook]


class Told:
    """A run whose events are written by the engine's journal, which tells whoever listens."""

    def __init__(self, store: Store) -> None:
        self.store = store
        store.claim(RUN, name="night", source="", fresh=True)
        self.state = RunState()
        self._journal = Journal(store, store.acquire(RUN, "me"), self.state, clock=Clock())
        self.listener: Callable[..., None] = lambda events, state: None
        settings = RunSettings(slots=1)
        self.tell(RunCreated(run=RUN, name="night", settings=settings), TasksAdded(tasks=(TaskSpec(id="a", run="x"),)))

    def tell(self, *events: Event) -> None:
        """Write events in one commit."""
        for event in events:
            self._journal.record(event)
        self._journal.commit(lambda written: self.listener(written, self.state))

    def go_on(self, events: int, *, commits: int = 1) -> None:
        """Let so many more things happen."""
        for _ in range(commits):
            self.tell(*[DriverSeen()] * (events // commits))

    @property
    def all(self) -> list[int]:
        """The numbers of all events."""
        return list(range(1, self.state.number + 1))


def wait_for(condition: Callable[[], object], what: str) -> None:
    until_s = time.monotonic() + WITHIN_S
    while not condition():
        assert time.monotonic() < until_s, f"waited for {what}"
        time.sleep(0.005)
