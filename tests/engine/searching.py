"""A search with the real engine: a strategy, tasks that compute, and drivers that follow each other."""

from collections.abc import Callable, Sequence
from random import Random

import msgspec
from tests.engine.stage import RUN
from tests.strategies.climb import HillClimb, height

from budwood._core.decisions import decision_lines
from budwood._core.events import Event, Recorded, RunCreated
from budwood._core.model import AttemptPhase, Outcome, RunSettings, TaskSpec
from budwood._core.replay import fold
from budwood._core.state import RunState
from budwood.engine.driver import Driver
from budwood.engine.opening import begin_run, go_on
from budwood.engine.verdict import Verdict
from budwood.executors.base import Work
from budwood.stores.memory import MemoryStore, MemoryWorld
from budwood.strategies import Strategy, Told
from budwood.testing.executors import Ending, FakeMachine, failed


def compute(work: Work) -> Ending | None:
    """Do what the call says: climb, fail, or wait for the test."""
    assert work.call is not None
    if work.call.function == "m:bad":
        return failed(error_type="exception", message="ValueError: no")
    if work.call.function == "m:hold":
        return None
    result = msgspec.json.encode(height(float(str(work.call.args[0]))))
    return Ending(Outcome(phase=AttemptPhase.SUCCEEDED, exit_code=0, result=msgspec.Raw(result)))


class Search:
    """A run with a strategy; drivers come and go."""

    def __init__(self, *, slots: int = 2, settings: RunSettings | None = None) -> None:
        self.world = MemoryWorld()
        self.machine = FakeMachine(compute)
        self.settings = msgspec.structs.replace(settings or RunSettings(seed=7, backoff_s=0.001), slots=slots)
        self.task_defaults: dict[str, object] = {}
        MemoryStore(self.world).claim(RUN, name="climb", source="", fresh=True)

    def drive(
        self,
        strategy: Strategy | None,
        *,
        on: Callable[[Event], None] = lambda event: None,
        probe: Callable[[str], None] = lambda point: None,
        **changes: object,
    ) -> Verdict:
        """Drive from the beginning or from where it was."""

        def listener(events: Sequence[Recorded], _: RunState) -> None:
            for recorded in events:
                on(recorded.event)

        created = RunCreated(
            run=RUN,
            name="climb",
            settings=self.settings,
            cwd="/project",
            strategy="m:Climb",
            task_defaults=self.task_defaults,
        )
        begin, resume = begin_run(created, HillClimb()), go_on(changes=changes)
        with MemoryStore(self.world) as store:
            driver = Driver(
                store,
                self.machine.executor(),
                run=RUN,
                holder="a test",
                listener=listener,
                probe=probe,
                strategy=strategy,
            )
            return driver.drive(lambda state: begin(state) if state.number == 0 else resume(state))

    def events(self) -> list[Event]:
        return [recorded.event for recorded in MemoryStore(self.world).read(RUN)]

    def state(self) -> RunState:
        return fold(MemoryStore(self.world).read(RUN))

    def decisions(self) -> list[bytes]:
        return list(decision_lines(self.state()))


class Listed(Strategy):
    """Answers from a list, and remembers what it was told before each answer."""

    def __init__(self, *answers: Sequence[TaskSpec], window: int = 1) -> None:
        self.answers = answers
        self.window = window
        self.told: list[str] = []
        self.knew: list[list[str]] = []
        self.recorded: list[int] = []

    def ask(self, number: int, random: Random) -> Sequence[TaskSpec]:
        self.knew.append(list(self.told))
        return self.answers[number] if number < len(self.answers) else ()

    def asked(self, number: int, tasks: Sequence[TaskSpec]) -> None:
        assert list(tasks) == list(self.answers[number])
        self.recorded.append(number)

    def tell(self, told: Told) -> None:
        self.told.append(f"{told.task.id} {told.state.value}")


def call(name: str, function: str = "m:good", *after: str) -> TaskSpec:
    return TaskSpec(id=name, function=function, args=(1.0,), after=after)
