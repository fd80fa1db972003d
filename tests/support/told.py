"""A run that is told, not driven: written into a real store by the engine's journal, one event each second.

Knows engine and SQLite store. Nothing is started.
"""

from collections.abc import Sequence
from pathlib import Path

from budwood._core.events import AttemptQueued, AttemptStarted, DriverStarted, Event, RunCreated, TasksAdded
from budwood._core.judge import judge
from budwood._core.model import AttemptPhase, LaneSpec, Measure, Outcome, RunSettings, TaskId, TaskSpec, Usage
from budwood._core.state import RunState
from budwood.engine.clock import Clock
from budwood.engine.journal import Journal
from budwood.stores import open_store
from budwood.stores.base import LogEntry

AT_MS = 1_790_000_000_000
"""2026-09-21T14:13:20Z."""
SETTINGS = RunSettings(slots=2, seed=7, goal="Ship it", budget_usd=5.0, backoff_s=60.0)


class StepClock(Clock):
    """Goes on by one second with every look."""

    def __init__(self) -> None:
        self.at_ms = AT_MS

    def now_ms(self) -> int:
        self.at_ms += 1000
        return self.at_ms


class Told:
    """A project with a run in its store; the teller holds the lease until `leave`."""

    def __init__(
        self,
        root: Path,
        tasks: Sequence[TaskSpec],
        lanes: Sequence[LaneSpec] = (),
        *,
        name: str = "night",
        run: str = "n1ght00000",
        settings: RunSettings = SETTINGS,
    ) -> None:
        self.root, self.run, self.name = root, run, name
        self.store = open_store(root / ".budwood" / "store.db")
        claim = self.store.claim(run, name=name, source=f"/plans/{name}.toml", fresh=True)
        self.lease = self.store.acquire(run, "pid 4242 on host")
        self.clock = StepClock()
        self.state = RunState()
        self._journal = Journal(self.store, self.lease, self.state, clock=self.clock)
        self.tell(
            RunCreated(
                run=run,
                name=claim.name,
                settings=settings,
                source=f"/plans/{name}.toml",
                cwd=str(root),
                made_by="0.1.0",
            ),
            DriverStarted(driver="pid 4242 on host", fence=self.lease.fence),
            TasksAdded(tasks=tuple(tasks), lanes=tuple(lanes)),
        )

    def tell(self, *events: Event) -> None:
        """Record events, and what follows from each by rule."""
        for event in events:
            self._journal.record(event)
        self._journal.commit(lambda written: None)

    def start(self, task: TaskId, *, slot: int = 0, pid: int = 100) -> None:
        """Let an attempt begin."""
        state = self.state.task(task)
        number = state.attempts + 1
        self.tell(
            AttemptQueued(task=task, attempt=number, slot=slot, retry=state.tries),
            AttemptStarted(task=task, attempt=number, pid=pid, began_at_ms=self.clock.at_ms + 1000),
        )

    def end(
        self,
        task: TaskId,
        *,
        exit_code: int = 0,
        log: bytes = b"",
        cost_usd: float | None = None,
        error_type: str | None = None,
        message: str | None = None,
    ) -> None:
        """Let an attempt end, after a second and a half."""
        state = self.state.task(task)
        failed = exit_code != 0
        outcome = Outcome(
            phase=AttemptPhase.FAILED if failed else AttemptPhase.SUCCEEDED,
            exit_code=exit_code,
            error_type=error_type or ("exit" if failed else None),
            message=message if message is not None else f"exit code {exit_code}" if failed else "",
            usage=Usage(cost_usd=cost_usd),
            measure=Measure(wall_s=1.5, cpu_s=0.25, peak_memory_bytes=2_400_000, output_bytes=len(log)),
        )
        if log:
            self._journal.keep_log(LogEntry(task=state.number, attempt=state.attempts, data=log))
        self.tell(judge(self.state, state, outcome))

    def done(self, task: TaskId, *, log: bytes = b"", cost_usd: float | None = None) -> None:
        """Let a task succeed at once."""
        self.start(task)
        self.end(task, log=log, cost_usd=cost_usd)

    def leave(self) -> None:
        """Give the lease back, as a driver that was killed does."""
        self.store.release(self.lease)

    def close(self) -> None:
        """Let go of the store."""
        self.store.close()


TASKS = (
    TaskSpec(id="build", run="make", description="Build it"),
    TaskSpec(id="test", run=("pytest", "-q"), after=("build",), retries=1),
    TaskSpec(id="deploy", run="./deploy\n--now", after=("test",)),
    TaskSpec(id="docs", run="make docs", lane="web"),
    TaskSpec(id="site", run="make site", lane="web"),
    TaskSpec(id=7, run="true", priority=-1),
    TaskSpec(id="end", run="true", after=("deploy", "site")),
)
LANES = (LaneSpec(id="web"),)


def under_way(root: Path) -> Told:
    """Tell half a run: one done, one tried again in a minute, two running, one held by its lane, one without a slot."""
    told = Told(root, TASKS, LANES)
    told.done("build", log=b"compiling\nall built\n", cost_usd=0.25)
    told.start("test", pid=101)
    told.end("test", exit_code=3, log=b"1 failed\n")
    told.start("docs", slot=0, pid=102)
    told.start(7, slot=1, pid=103)
    return told


def ended(root: Path, *, name: str = "night", run: str = "n1ght00000") -> Told:
    """Tell a whole run in which one task failed for good."""
    from budwood._core.events import DriverStopped, RunEnded

    told = Told(root, TASKS, LANES, name=name, run=run)
    told.done("build", log=b"compiling\nall built\n", cost_usd=0.25)
    for pid in (101, 102):
        told.start("test", pid=pid)
        told.end("test", exit_code=3, log=f"try {pid}\n1 failed\n".encode())
    for task in ("docs", "site", 7):
        told.done(task)
    told.tell(RunEnded(), DriverStopped(reason="finished"))
    told.leave()
    return told
