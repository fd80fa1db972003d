"""Events on their way into the store: applied at once, written together.

Each turn of the driver's loop is one commit. What an event demands of the world is handed out only when it is
durable. Knows the machine and the store's contract; must not know executors.
"""

from collections.abc import Callable

from budwood._core.commands import Command
from budwood._core.consequences import consequences
from budwood._core.events import AttemptEnded, AttemptQueued, AttemptStarted, Event, Recorded, about
from budwood._core.machine import handle
from budwood._core.project import take_rows
from budwood._core.replay import Observer, story_lines
from budwood._core.state import RunState
from budwood.engine.clock import Clock
from budwood.errors import IllegalTransition
from budwood.stores.base import Answer, Commit, Lease, LogEntry, Store

CHEAP_S = 0.01
"""A call that took longer is written at once: a commit takes a small part of that."""


class Journal:
    """Writes a run's events under a lease."""

    def __init__(
        self, store: Store, lease: Lease, state: RunState, *, clock: Clock, observer: Observer | None = None
    ) -> None:
        self.state = state
        self._store = store
        self._lease = lease
        self._clock = clock
        self._observer = observer
        self._events: list[Recorded] = []
        self._logs: list[LogEntry] = []
        self._answers: list[Answer] = []
        self._commands: list[Command] = []
        self._calls: list[Command] = []
        self.urgent = False
        """Whether something waits for the commit, or is too dear to be lost; the rest can wait for the next one."""

    def record(self, event: Event, *, done: bool = False) -> None:
        """Apply an event and what follows from it by rule; where it says what is `done`, it demands nothing more."""
        recorded = Recorded(self.state.number + 1, self._clock.now_ms(), event)
        try:
            commands = handle(self.state, recorded)
        except IllegalTransition as error:
            past = [*self._store.read(self._lease.run), *self._events, recorded]
            raise error.with_story(story_lines(past, about(event))) from error
        self._events.append(recorded)
        if self._can_wait(event):
            # Of a function's attempt: it may be repeated, so that it need not wait for the disk.
            self._calls += () if done else commands
        else:
            self._commands += commands
            self.urgent = True
        if self._observer is not None:
            self._observer(self.state, recorded)
        if not isinstance(event, AttemptQueued):  # the most frequent of those that nothing follows from
            for follows in consequences(self.state, event):
                self.record(follows)

    @property
    def now_ms(self) -> int:
        """Say what time it is for this driver."""
        return self._clock.now_ms()

    def take_calls(self) -> list[Command]:
        """Return what may be done before it is durable."""
        calls, self._calls = self._calls, []
        return calls

    def _can_wait(self, event: Event) -> bool:
        """Say whether the commit may come a moment later: if it is lost, nothing dear is repeated."""
        if isinstance(event, AttemptEnded):
            usage = event.usage
            is_dear = usage.cost_usd or usage.tokens or event.measure.wall_s >= CHEAP_S
            return not is_dear and self.state.task(event.task).spec.function is not None
        if isinstance(event, AttemptQueued):
            return self.state.task(event.task).spec.function is not None
        return isinstance(event, AttemptStarted)

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
