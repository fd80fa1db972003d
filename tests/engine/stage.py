"""A run with the real engine, a memory store and an executor without processes.

What happens is decided by the test, in the driver's own thread: it reacts to durable events (`on`), so that nothing
waits for a clock and every run of a test is the same.
"""

from collections.abc import Callable, Sequence

import msgspec

from budwood._core import events as e
from budwood._core.decisions import decision_lines
from budwood._core.events import Event, Recorded, RunCreated
from budwood._core.model import LaneSpec, RunSettings, TaskId, TaskSpec
from budwood._core.replay import fold, fold_rows
from budwood._core.state import RunState
from budwood.engine.driver import Driver, Opening
from budwood.engine.opening import begin_run, go_on
from budwood.engine.verdict import Verdict
from budwood.executors.base import Executor, Work
from budwood.stores.base import Request, Store
from budwood.stores.memory import MemoryStore, MemoryWorld
from budwood.strategies import PlanStrategy
from budwood.testing.executors import Ending, FakeMachine, failed, succeeded

RUN = "aaaaaaaaaa"
React = Callable[[Event, RunState], None]


def nothing(_event: Event, _state: RunState) -> None:
    """React to nothing."""


def task(
    name: TaskId, *after: TaskId, run: str = "ok", retries: int = 0, usd: float = 0.0, cpus: float = 0.0
) -> TaskSpec:
    """Make a task; `run` says what it does: ok, bad, hold, or the type of a fault."""
    return TaskSpec(id=name, run=(run,), after=after, retries=retries, reserve_usd=usd, cpus=cpus)


def by_command(work: Work) -> Ending | None:
    """Do what the task's command says; `seed` fails by its seed."""
    [command] = work.steps[0].argv
    match command:
        case "ok":
            return succeeded(log=b"fine\n")
        case "hold":
            return None
        case "bad":
            return failed()
        case "seed":
            return failed() if int(work.env["BUDWOOD_ATTEMPT_SEED"]) % 3 == 0 else succeeded()
        case fault:
            return failed(error_type=fault, message=f"it was {fault}")


class Stage:
    """One run, its store and its machine; drivers come and go."""

    def __init__(
        self, *tasks: TaskSpec, lanes: Sequence[LaneSpec] = (), settings: RunSettings | None = None, slots: int = 2
    ) -> None:
        self.world = MemoryWorld()
        self.machine = FakeMachine(by_command)
        self.tasks = tasks
        self.lanes = lanes
        self.settings = msgspec.structs.replace(settings or RunSettings(seed=7, backoff_s=0.001, cpus=8.0), slots=slots)
        self.heard: list[Recorded] = []
        self.driver: Driver | None = None
        with MemoryStore(self.world) as store:
            store.claim(RUN, name="night", source="plan", fresh=False)

    def drive(
        self,
        *,
        on: React = nothing,
        opening: Opening | None = None,
        store: Store | None = None,
        executor: Executor | None = None,
        probe: Callable[[str], None] = lambda point: None,
        holder: str = "a test",
        stop: str | None = None,
    ) -> Verdict:
        """Drive the run here, from its beginning or where it was; with `stop` it is told to leave before it begins."""

        def listener(events: Sequence[Recorded], state: RunState) -> None:
            self.heard += events
            for recorded in events:
                on(recorded.event, state)

        created = RunCreated(run=RUN, name="night", settings=self.settings, source="plan", cwd="/project")
        begin, resume = begin_run(created, PlanStrategy(self.tasks, self.lanes)), opening or go_on()
        with store or MemoryStore(self.world) as opened:
            self.driver = Driver(
                opened,
                executor or self.machine.executor(),
                run=RUN,
                holder=holder,
                listener=listener,
                probe=probe,
            )
            if stop is not None:
                self.driver.stop(now=stop)
            return self.driver.drive(lambda state: begin(state) if state.number == 0 else resume(state))

    def leave(self) -> None:
        """Make the driver leave at once, as a second Ctrl-C does."""
        assert self.driver is not None
        self.driver.stop(now="interrupted")

    def ask(self, kind: str, *, body: str = "", key: str = "") -> Request:
        """Ask something of the run, as another process does."""
        store = MemoryStore(self.world)
        return store.ask(RUN, kind, body=body, key=key or f"{kind} {len(store.requests(RUN))}")

    def answers(self) -> list[tuple[str, str, str]]:
        """List what was asked, what became of it, and why."""
        return [(request.kind, request.state, request.answer) for request in MemoryStore(self.world).requests(RUN)]

    def events(self) -> list[Event]:
        """Read what was written."""
        return [recorded.event for recorded in MemoryStore(self.world).read(RUN)]

    def of_kind(self, *kinds: type[Event]) -> list[Event]:
        """Pick events."""
        return [event for event in self.events() if isinstance(event, kinds)]

    def state(self) -> RunState:
        """Fold what was written."""
        return fold(MemoryStore(self.world).read(RUN))

    def phases(self) -> dict[TaskId, str]:
        """Tell where every wanted task stands."""
        return {each.spec.id: each.phase.value for each in self.state().tasks if not each.removed}

    def decisions(self) -> list[bytes]:
        """Return the decision log."""
        return list(decision_lines(self.state()))

    def check_sound(self) -> None:
        """Prove that each attempt ran at most once, all that was told was written in order, and rows fit events."""
        assert set(self.machine.ran.values()) <= {1}, self.machine.ran
        store = MemoryStore(self.world)
        written = list(store.read(RUN))
        assert [recorded.number for recorded in written] == list(range(1, len(written) + 1))
        rows = fold_rows(written)
        assert list(rows.tasks) == store.tasks(RUN)
        assert list(rows.attempts) == store.attempts(RUN)
        assert rows.run == store.runs()[0]


def started(name: TaskId, call: Callable[[], object]) -> React:
    """React once, when it is durable that an attempt at this task began."""
    return _once(lambda event: isinstance(event, e.AttemptStarted) and event.task == name, call)


def ended(name: TaskId, call: Callable[[], object]) -> React:
    """React once, when it is durable that an attempt at this task ended."""
    return _once(lambda event: isinstance(event, e.AttemptEnded) and event.task == name, call)


def at(kind: type[Event], call: Callable[[], object]) -> React:
    """React once, to the first event of a kind."""
    return _once(lambda event: isinstance(event, kind), call)


def together(*reactions: React) -> React:
    """React in several ways."""

    def react(event: Event, state: RunState) -> None:
        for each in reactions:
            each(event, state)

    return react


def _once(wanted: Callable[[Event], bool], call: Callable[[], object]) -> React:
    waiting = [call]

    def react(event: Event, _: RunState) -> None:
        if waiting and wanted(event):
            waiting.pop()()

    return react


def layered(*, slots: int = 3) -> Stage:
    """Twelve tasks with lanes, tries decided by the seed, and two failures."""
    tasks = [
        msgspec.structs.replace(
            task(
                n,
                *(m for m in (n - 3, n - 4) if m >= 0 and n % 5),
                run="bad" if n in (7, 9) else "seed",
                retries=4 if n not in (7, 9) else n % 2,
            ),
            lane="x" if n % 4 == 0 else None,
        )
        for n in range(12)
    ]
    return Stage(*tasks, lanes=(LaneSpec(id="x"),), slots=slots)


class Killed(BaseException):
    """A driver died."""
