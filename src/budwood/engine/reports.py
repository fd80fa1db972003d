"""What the executor tells, written down.

Turns what happened to attempts into events. Knows the journal; must not know which executor speaks.
"""

from collections.abc import Sequence

from budwood._core.events import AttemptScoring, AttemptStarted, Event, ProgressReported
from budwood._core.judge import judge
from budwood._core.model import AttemptPhase, Outcome
from budwood._core.state import TaskState
from budwood.engine.ahead import Ahead
from budwood.engine.journal import Journal
from budwood.stores.base import LogEntry


class Reports:
    """Hears the executor (its `Sink`)."""

    def __init__(self, journal: Journal, ahead: Ahead) -> None:
        self._journal = journal
        self._ahead = ahead
        self._held: list[tuple[str, Outcome, bytes | None]] = []
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

    def taken(self, work_id: str, *, slot: int) -> None:
        """Note that a call that was sent ahead has begun."""
        self._journal.record(self._ahead.begin(work_id, slot=slot), done=True)

    def ended(self, work_id: str, outcome: Outcome, *, log: bytes | None) -> None:
        """Note how an attempt ended and keep what it printed, in one commit.

        What did not succeed may pause the run or end other tasks: first we must know which calls have begun.
        """
        if outcome.phase is AttemptPhase.SUCCEEDED or self._ahead.withdraw():
            self._end(work_id, outcome, log)
        else:
            self._held.append((work_id, outcome, log))

    @property
    def holds(self) -> bool:
        """Whether an end waits until more is known."""
        return bool(self._held)

    def release(self) -> None:
        """Note the ends that waited."""
        held, self._held = self._held, []
        for work_id, outcome, log in held:
            self._end(work_id, outcome, log)

    def _end(self, work_id: str, outcome: Outcome, log: bytes | None) -> None:
        task = self._find(work_id)
        if task is None:
            return
        if log is None:
            self.large_logs.add(work_id)
        elif log:
            self._journal.keep_log(LogEntry(task=task.number, attempt=task.attempts, data=log))
        self._journal.record(judge(self._journal.state, task, outcome))

    def scoring(self, work_id: str) -> None:
        """Note that an attempt's candidate is being scored; an adopted one may have been noted before."""
        task = self._find(work_id)
        if task is not None and task.attempt is not None and task.attempt.phase is not AttemptPhase.SCORING:
            self._journal.record(AttemptScoring(task=task.spec.id, attempt=task.attempts))

    def reviewing(self, work_id: str, *, agent: str) -> None:
        """Let an attempt say that an agent reviews what it made: nothing is decided by that."""
        task = self._find(work_id)
        if task is not None and task.attempt is not None:
            text = f"{agent} reviews what it made"
            self._journal.record(ProgressReported(task=task.spec.id, attempt=task.attempts, text=text))

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
