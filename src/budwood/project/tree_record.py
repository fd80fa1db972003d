"""A record that is written as a driver would have written it: each event is applied and shown to the strategy at once.

Knows events, the state and the strategist. Must not know where what it writes comes from.
"""

from collections.abc import Iterable

import msgspec

from budwood._core.events import (
    AskingEnded,
    AttemptEnded,
    AttemptQueued,
    Event,
    External,
    Recorded,
    RunEnded,
    TasksCancelled,
    TasksSkipped,
)
from budwood._core.model import AttemptError, AttemptPhase, Left, Measure, Usage
from budwood._core.replay import fold
from budwood._core.schedule import pick
from budwood._core.scores import Score
from budwood._core.state import RunState
from budwood.engine.strategist import Strategist
from budwood.formats.tree_manifest import Failure
from budwood.strategies import Strategy

_NOTHING = Usage(cost_usd=0.0, tokens=0)
"""What was paid for it was paid elsewhere, and is no part of this run's budget."""


class Record:
    """The events of a run so far, and what they come to."""

    def __init__(self, strategy: Strategy) -> None:
        self._strategist = Strategist(strategy)
        self.state = RunState()
        self.events: list[Recorded] = []

    def ask(self) -> list[Event]:
        """Ask the strategy what comes next; whatever it has asked for so far must have ended."""
        pick(self.state, self.state.at_ms, slots=(0,))  # takes what has ended out of the queue, as a driver does
        return self._strategist.next_events(self.state)

    def add(self, event: Event, at_ms: int) -> None:
        """Write an event down; its time is never before that of another."""
        recorded = Recorded(len(self.events) + 1, max(at_ms, self.state.at_ms), event)
        fold([recorded], self.state, observer=self._strategist.see)
        self.events.append(recorded)

    def take(self, events: Iterable[Event]) -> None:
        """Write events down that the strategy has asked for."""
        for event in events:
            self.add(event, self.state.at_ms)

    def succeed(
        self,
        task: str,
        began_ms: int,
        ended_ms: int,
        *,
        left: Left | None = None,
        score: Score | None = None,
        notes: dict[str, str] | None = None,
    ) -> None:
        """Write down an attempt that succeeded."""
        number = self._queue(task, began_ms)
        end = AttemptEnded(
            task=task,
            attempt=number,
            phase=AttemptPhase.SUCCEEDED,
            began_at_ms=began_ms,
            usage=_NOTHING,
            measure=Measure(wall_s=max(0, ended_ms - began_ms) / 1000),
            left=left,
            score=score,
        )
        if notes is not None:
            end = msgspec.structs.replace(end, result=msgspec.Raw(msgspec.json.encode(notes)))
        self.add(end, ended_ms)

    def fail(self, task: str, why: Failure, began_ms: int, ended_ms: int, *, will_retry: bool = False) -> None:
        """Write down an attempt that failed."""
        number = self._queue(task, began_ms)
        error = AttemptError(
            type=why.error_type or "agent",
            message=why.message or "the manifest does not say why",
            attempt=number,
            max_retries=self.state.task(task).spec.retries,
            will_retry=will_retry,
            timed_out=bool(why.timed_out),
        )
        phase = AttemptPhase.TIMED_OUT if why.timed_out else AttemptPhase.FAILED
        self._end(task, number, phase, error, began_ms, ended_ms)

    def cancel(self, task: str, at_ms: int) -> None:
        """Write down that somebody gave a task up."""
        name = self.state.task(task).spec.id
        self.add(External(cause="cancel", task=name), at_ms)
        self.add(TasksCancelled(tasks=(name,)), at_ms)

    def end_cancelled(self, task: str, began_ms: int, ended_ms: int) -> None:
        """Write down that somebody gave a task up while an attempt at it ran."""
        number = self._queue(task, began_ms)
        self.cancel(task, ended_ms)
        most = self.state.task(task).spec.retries
        error = AttemptError(type="cancelled", message="cancelled", attempt=number, max_retries=most, will_retry=False)
        self._end(task, number, AttemptPhase.CANCELLED, error, began_ms, ended_ms)

    def skip(self, task: str, at_ms: int, *, because: str) -> None:
        """Write down that a task was left out because of another's failure."""
        self.add(TasksSkipped(tasks=(self.state.task(task).spec.id,), because=self.state.task(because).spec.id), at_ms)

    def cancel_all(self) -> None:
        """Write down that somebody gave up the run, of which every task has ended."""
        self.take((External(cause="cancel"), TasksCancelled(tasks=(), whole_run=True)))

    def stop(self) -> None:
        """Write down that a failure stopped the run: the strategy is asked no more."""
        if self.state.asking:
            self.take((External(cause="strict"), AskingEnded(asks=self.state.asks, stopped=True)))

    def rest(self) -> None:
        """Write down that the run is over, if it is."""
        if self.state.all_ended:
            self.take((RunEnded(cancelled=self.state.cancelled),))

    def _end(
        self, task: str, number: int, phase: AttemptPhase, error: AttemptError, began_ms: int, ended_ms: int
    ) -> None:
        end = AttemptEnded(
            task=task,
            attempt=number,
            phase=phase,
            began_at_ms=began_ms,
            error=error,
            usage=_NOTHING,
            measure=Measure(wall_s=max(0, ended_ms - began_ms) / 1000),
        )
        self.add(end, ended_ms)

    def _queue(self, task: str, at_ms: int) -> int:
        state = self.state.task(task)
        number = state.attempts + 1
        self.add(AttemptQueued(task=task, attempt=number, slot=0, retry=state.tries), at_ms)
        return number
