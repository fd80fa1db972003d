"""A run without store, executor or clock: the pure core driven as the engine drives it.

Time stands still unless a test moves it. Every event goes through JSON into `log`, so that a refold reads what a store
would have kept.
"""

from collections.abc import Sequence

from budwood._core.commands import Command
from budwood._core.consequences import at_rest, consequences
from budwood._core.decisions import decision_lines
from budwood._core.events import (
    AttemptQueued,
    AttemptStarted,
    DriverStarted,
    Event,
    Raw,
    Recorded,
    RunCreated,
    TasksAdded,
    decode,
    encode,
)
from budwood._core.judge import judge
from budwood._core.machine import handle
from budwood._core.model import AttemptPhase, LaneSpec, Outcome, RunPhase, RunSettings, TaskId, TaskSpec
from budwood._core.replay import fold
from budwood._core.schedule import pick
from budwood._core.state import RunState, TaskState

OK = Outcome(phase=AttemptPhase.SUCCEEDED, exit_code=0)
BAD = Outcome(phase=AttemptPhase.FAILED, exit_code=1, error_type="exit", message="exit code 1")
LOST = Outcome(phase=AttemptPhase.ABANDONED, error_type="abandoned", message="its supervisor was killed")
CANCELLED = Outcome(phase=AttemptPhase.CANCELLED, error_type="cancelled", message="cancelled")
AT_MS = 1_700_000_000_000


def bad(error_type: str) -> Outcome:
    """Fail for a stated reason."""
    return Outcome(phase=AttemptPhase.FAILED, error_type=error_type, message=f"it was {error_type}")


def task(
    name: TaskId,
    *after: TaskId,
    prefer: Sequence[TaskId] = (),
    run: str = "true",
    priority: int = 0,
    retries: int = 0,
    lane: TaskId | None = None,
    group: str | None = None,
    cpus: float = 0.0,
    gpus: int = 0,
    usd: float = 0.0,
    tokens: int = 0,
) -> TaskSpec:
    """Make a task."""
    return TaskSpec(
        id=name,
        run=run,
        after=after,
        prefer_after=tuple(prefer),
        priority=priority,
        retries=retries,
        lane=lane,
        group=group,
        cpus=cpus,
        gpus=gpus,
        reserve_usd=usd,
        reserve_tokens=tokens,
    )


class Bench:
    """One run."""

    def __init__(
        self, *tasks: TaskSpec, lanes: Sequence[TaskId | LaneSpec] = (), settings: RunSettings | None = None
    ) -> None:
        self.state = RunState()
        self.log: list[Raw] = []
        self.now_ms = AT_MS
        given = tuple(lane if isinstance(lane, LaneSpec) else LaneSpec(id=lane) for lane in lanes)
        self.record(RunCreated(run="r", name="night", settings=settings or RunSettings(slots=8, cpus=8.0)))
        self.record(DriverStarted(driver="me", fence=1))
        self.record(TasksAdded(tasks=tasks, lanes=given))

    def apply(self, event: Event) -> list[Command]:
        """Put one event in, and nothing that follows from it."""
        recorded = Recorded(self.state.number + 1, self.now_ms, event)
        commands = handle(self.state, recorded)
        self.log.append(encode(recorded))
        return commands

    def record(self, event: Event) -> list[Command]:
        """Put an event in, and what follows from it by rule."""
        commands = self.apply(event)
        for follows in consequences(self.state, event):
            commands += self.record(follows)
        return commands

    def pick(self) -> AttemptQueued | None:
        """Choose for the first free slot; nothing is recorded."""
        free = [slot for slot in range(self.state.settings.slots) if slot not in self.state.holdings.slots]
        return pick(self.state, self.now_ms, slots=free)

    def fill(self) -> list[TaskId]:
        """Start all that may start; name it in order."""
        started: list[TaskId] = []
        while (queued := self.pick()) is not None:
            self.record(queued)
            started.append(queued.task)
        return started

    def begin(self, name: TaskId) -> None:
        """Say that an attempt's process runs."""
        self.record(AttemptStarted(task=name, attempt=self.of(name).attempts, pid=7, began_at_ms=self.now_ms))

    def end(self, name: TaskId, outcome: Outcome = OK) -> list[Command]:
        """Let the open attempt at a task end."""
        return self.record(judge(self.state, self.of(name), outcome))

    def rest(self) -> list[Event]:
        """Record what follows when nothing more can be started; return it."""
        events = at_rest(self.state, self.now_ms)
        for event in events:
            self.record(event)
        return events

    def of(self, name: TaskId) -> TaskState:
        """Find a task."""
        return self.state.task(name)

    def phases(self) -> dict[TaskId, str]:
        """Tell where every wanted task stands."""
        return {task.spec.id: task.phase.value for task in self.state.tasks if not task.removed}

    def stands(self) -> RunPhase:
        """Tell where the run stands."""
        return self.state.phase

    def events(self) -> list[Recorded]:
        """Read the log back."""
        return [decode(raw) for raw in self.log]

    def refold(self) -> RunState:
        """Fold what a store would have kept."""
        return fold(self.events())

    def decisions(self) -> list[bytes]:
        """Return the decision log."""
        return list(decision_lines(self.state))
