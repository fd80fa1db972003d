"""The executor without processes against the contract, and what only it can do."""

from pathlib import Path

import pytest

from budwood._core.model import Usage
from budwood.errors import ExecutorError, LeaseLost
from budwood.executors.base import Call, Executor, Step, Work
from budwood.testing.executor_calls import result_of
from budwood.testing.executors import (
    CallKind,
    Ending,
    ExecutorConformance,
    ExecutorWorld,
    FakeMachine,
    Kind,
    Post,
    failed,
    raised,
    returned,
    succeeded,
)


class FakeWorld(ExecutorWorld):
    def __init__(self) -> None:
        self.machine = FakeMachine(self._script)
        self._kinds: dict[str, Kind | CallKind] = {}

    def _script(self, work: Work) -> Ending | None:
        if work.call is not None:
            return self._call(work)
        match self._kinds[work.id]:
            case "succeeds":
                return succeeded()
            case "fails":
                return failed(3)
            case "prints":
                return succeeded(log=b"hello\n")
            case "reads":
                return _reads(work)
            case _:
                return None

    def _call(self, work: Work) -> Ending | None:
        match self._kinds[work.id]:
            case "raises":
                return raised(ValueError("not today"))
            case "dies":
                return failed(3)
            case "holds":
                return None
            case "spends":
                self.machine.say_cost(work.id, Usage(cost_usd=0.5))
                return None
            case kind:
                return returned([work.id, {"and": None}], log=b"hello\n" if kind == "prints" else b"")

    def executor(self) -> Executor:
        return self.machine.executor()

    def work(self, work_id: str, kind: Kind, *, slot: int = 0, timeout_s: float | None = None) -> Work:
        self._kinds[work_id] = kind
        return Work(id=work_id, slot=slot, timeout_s=timeout_s, steps=(Step(name="run", argv=("played",)),))

    def call(self, work_id: str, kind: CallKind, *, slot: int = 0, timeout_s: float | None = None) -> Work:
        self._kinds[work_id] = kind
        return Work(id=work_id, slot=slot, timeout_s=timeout_s, call=Call(function="some:function"))

    def let_go(self, work_id: str) -> None:
        attempt = self.machine.find(work_id)
        assert attempt is not None
        self.machine.end(work_id, returned([work_id, {"and": None}]) if attempt.work.call is not None else None)

    def transcript(self, work_id: str, name: str) -> bytes:
        return self.machine.transcripts[work_id, name]

    def lose(self, work_id: str) -> None:
        self.machine.lose(work_id)

    def runs_of(self, work_id: str) -> int:
        return self.machine.ran[work_id]


def _reads(work: Work) -> Ending:
    words = [Path(step.stdin).read_bytes() if step.stdin else b"" for step in work.steps]
    names = [step.transcript or "" for step in work.steps]
    return Ending(succeeded().outcome, b"".join(words), dict(zip(names, words, strict=True)))


class TestFakeExecutor(ExecutorConformance):
    @pytest.fixture
    def world(self) -> ExecutorWorld:
        return FakeWorld()


def test_a_busy_slot_takes_no_second_attempt() -> None:
    world = FakeWorld()
    post = Post(world, 1)
    post.begin(world.work("0.1", "holds"))
    with pytest.raises(ExecutorError, match=r"slot 0 was given 1\.1 while 0\.1 ran"):
        post.executor.start(world.work("1.1", "holds"))
    post.executor.close()


def test_an_overtaken_driver_is_told_so() -> None:
    world = FakeWorld()
    posts = [Post(world, fence) for fence in (3, 4)]
    with pytest.raises(LeaseLost, match="fence 4"):
        posts[0].executor.start(world.work("0.1", "succeeds"))
    with pytest.raises(LeaseLost, match="fence 4"):
        Post(world, 2)
    for post in posts:
        post.executor.close()


def test_a_stubborn_machine_ends_when_it_likes() -> None:
    world = FakeWorld()
    world.machine.obeys_cancel = False
    post = Post(world, 1)
    post.begin(world.work("0.1", "holds"))
    post.executor.cancel("0.1")
    assert world.machine.running == world.machine.cancelled == ["0.1"]
    world.machine.end("0.1", failed(9))
    assert post.end_of("0.1").exit_code == 9
    post.executor.close()


def test_functions_can_be_played_by_others() -> None:
    def divide(a: float, b: float = 1.0) -> float:
        return a / b

    machine = FakeMachine(functions={"maths:divide": divide})
    world = FakeWorld()
    world.machine = machine
    post = Post(world, 1)
    for number, kwargs in enumerate(({"b": 4.0}, {"b": 0.0})):
        call = Call(function="maths:divide", args=(2.0,), kwargs=dict(kwargs))
        post.executor.start(Work(id=f"{number}.1", slot=0, call=call))
    assert result_of(post.end_of("0.1")) == 0.5
    failure = post.end_of("1.1")
    assert (failure.error_type, failure.message) == ("exception", "ZeroDivisionError: float division by zero")
    assert post.begun_pids == {}
    post.executor.close()
