"""What the executor tells, written down.

Turns what happened to attempts into events. Knows the journal; must not know which executor speaks.
"""

from collections.abc import Sequence

from budwood._core.events import AttemptStarted, Event
from budwood._core.judge import judge
from budwood._core.model import AttemptPhase, Outcome
from budwood._core.state import TaskState
from budwood.engine.journal import Journal
from budwood.stores.base import LogEntry


class Reports:
    """Hears the executor (its `Sink`)."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self.retired_slots: set[int] = set()
        self.landing = False
        """Whether something is being done for the merge queue."""
        self.large_logs: set[str] = set()
        """Attempts whose log stays in their directory, because it is too large for the store."""

    def begun(self, work_id: str, *, pid: int, at_ms: int) -> None:
        """Note that an attempt started; an adopted one may have been noted before."""
        task = self._find(work_id)
        if task is not None and task.attempt is not None and task.attempt.phase is AttemptPhase.QUEUED:
            event = AttemptStarted(task=task.spec.id, attempt=task.attempts, pid=pid, began_at_ms=at_ms)
            self._journal.record(event)

    def ended(self, work_id: str, outcome: Outcome, *, log: bytes | None) -> None:
        """Note how an attempt ended and keep what it printed, in one commit."""
        task = self._find(work_id)
        if task is None:
            return
        if log is None:
            self.large_logs.add(work_id)
        elif log:
            self._journal.keep_log(LogEntry(task=task.number, attempt=task.attempts, data=log))
        self._journal.record(judge(self._journal.state, task, outcome))

    def landed(self, events: Sequence[Event]) -> None:
        """Note what came of something that the merge queue wanted."""
        self.landing = False
        for event in events:
            self._journal.record(event)

    def retired(self, slot: int, *, reason: str) -> None:
        """Note that a slot is out of use while this driver drives; the attempt's own end says why."""
        self.retired_slots.add(slot)

    def _find(self, work_id: str) -> TaskState | None:
        """Return the task whose open attempt this is; None if that attempt is settled."""
        number, _, attempt = work_id.partition(".")
        task = self._journal.state.open.get(int(number))
        return task if task is not None and task.attempts == int(attempt) else None
