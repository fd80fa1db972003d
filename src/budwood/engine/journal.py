"""Events on their way into the store: applied at once, written together.

Each turn of the driver's loop is one commit. What an event demands of the world is handed out only when it is
durable. Knows the machine and the store's contract; must not know executors.
"""

from collections.abc import Callable

from budwood._core.commands import Command
from budwood._core.consequences import consequences
from budwood._core.events import AttemptStarted, Event, Recorded, about
from budwood._core.machine import handle
from budwood._core.project import take_rows
from budwood._core.replay import story_lines
from budwood._core.state import RunState
from budwood.engine.clock import Clock
from budwood.errors import IllegalTransition
from budwood.stores.base import Answer, Commit, Lease, LogEntry, Store


class Journal:
    """Writes a run's events under a lease."""

    def __init__(self, store: Store, lease: Lease, state: RunState, *, clock: Clock) -> None:
        self.state = state
        self._store = store
        self._lease = lease
        self._clock = clock
        self._events: list[Recorded] = []
        self._logs: list[LogEntry] = []
        self._answers: list[Answer] = []
        self._commands: list[Command] = []
        self.urgent = False
        """Whether something waits for the commit; that an attempt started can wait for the next one."""

    def record(self, event: Event) -> None:
        """Apply an event and what follows from it by rule."""
        recorded = Recorded(self.state.number + 1, self._clock.now_ms(), event)
        try:
            self._commands += handle(self.state, recorded)
        except IllegalTransition as error:
            past = [*self._store.read(self._lease.run), *self._events, recorded]
            raise error.with_story(story_lines(past, about(event))) from error
        self._events.append(recorded)
        if not isinstance(event, AttemptStarted):
            self.urgent = True
        for follows in consequences(self.state, event):
            self.record(follows)

    def keep_log(self, entry: LogEntry) -> None:
        """Write what an attempt printed together with its end."""
        self._logs.append(entry)

    def answer(self, answer: Answer) -> None:
        """Answer a request together with what it brought about."""
        self._answers.append(answer)
        self.urgent = True

    @property
    def pending(self) -> int:
        """How many events wait to be written."""
        return len(self._events)

    def commit(self, written: Callable[[list[Recorded]], None]) -> list[Command]:
        """Make everything durable in one transaction; return what may now be done."""
        events, commands = self._events, self._commands
        self._store.append(
            self._lease,
            Commit(
                after=events[0].number - 1 if events else self.state.number,
                events=tuple(events),
                rows=take_rows(self.state),
                logs=tuple(self._logs),
                answers=tuple(self._answers),
            ),
        )
        self._events, self._commands, self._logs, self._answers = [], [], [], []
        self.urgent = False
        written(events)
        return commands
