"""Calls that are sent ahead of a free slot: nothing that is decided may depend on it."""

import random
from collections import deque
from collections.abc import Callable

import msgspec
import pytest
from tests.engine.stage import Stage

from budwood._core import events as e
from budwood._core.model import RunPhase, RunSettings, TaskId, TaskSpec
from budwood.engine.verdict import Exit
from budwood.executors.base import Work
from budwood.testing.executors import Ending, FakeExecutor, FakeMachine, failed, succeeded


class Ahead(FakeExecutor):
    """Workers that share a bag; each says one turn late what it took, so that much can happen in between."""

    def __init__(
        self, machine: FakeMachine, *, meanwhile: Callable[[], object] = lambda: None, overlooks: int = 0
    ) -> None:
        super().__init__(machine)
        self._overlooks = overlooks
        """Every so many ends a worker finds nothing in the bag, because the driver had not filled it yet."""
        self._ends = 0
        self.bag: deque[Work] = deque()
        self._meanwhile = meanwhile
        """What happens when one was taken for the third time and nobody has heard of it."""
        self.taken: list[str] = []
        self.brought_back = 0

    def room_ahead(self) -> int:
        return 5 - len(self.bag)

    def send_ahead(self, work: Work) -> bool:
        self.bag.append(work)
        return True

    def take_back_first(self) -> str | None:
        if not self.bag:
            return None
        self.brought_back += 1
        return self.bag.popleft().id

    def take_back(self) -> list[str]:
        back = [work.id for work in self.bag]
        self.bag.clear()
        return back

    def report_end(self, work_id: str) -> None:
        attempt = self._machine.find(work_id)
        assert attempt is not None
        assert attempt.ending is not None
        self._ends += work_id not in self._told
        overlooked = self._overlooks and self._ends % self._overlooks == 0
        if work_id in self._told or attempt.ending.outcome.error_type is not None or not self.bag or overlooked:
            super().report_end(work_id)
            return
        if len(self.taken) == 2:
            self._meanwhile()
        following = msgspec.structs.replace(self.bag.popleft(), slot=attempt.work.slot)
        self._loop.later(0.0, lambda: self._go_on(work_id, following))

    def _go_on(self, work_id: str, following: Work) -> None:
        super().report_end(work_id)
        self.taken.append(following.id)
        self._sink.taken(following.id, slot=following.slot)
        self.start(following)


def call(name: TaskId, *after: TaskId, does: str = "ok", priority: int = 0, retries: int = 0) -> TaskSpec:
    """Make a task that calls a function; its name says what it does."""
    return TaskSpec(id=name, function=f"m:{does}", after=after, priority=priority, retries=retries)


def by_name(work: Work) -> Ending | None:
    """Do what the function's name says; `seed` fails by its seed."""
    assert work.call is not None
    does = work.call.function.removeprefix("m:")
    if does == "hold":
        return None
    if does == "seed":
        does = "bad" if int(work.env["BUDWOOD_ATTEMPT_SEED"]) % 3 == 0 else "ok"
    return succeeded() if does == "ok" else failed(error_type=does)


def stage_of(*tasks: TaskSpec, slots: int = 1, **settings: object) -> Stage:
    """Prepare a run of calls."""
    limits = msgspec.structs.replace(RunSettings(seed=7, backoff_s=0.0, cpus=2.0), **settings)
    stage = Stage(*tasks, settings=limits, slots=slots)
    stage.machine.script = by_name
    return stage


def order(stage: Stage) -> list[tuple[TaskId, int]]:
    """Tell which attempts began, in order."""
    return [(event.task, event.attempt) for event in stage.events() if isinstance(event, e.AttemptQueued)]


def random_calls(dice: random.Random) -> list[TaskSpec]:
    """Make a plan in which much can come between two calls, or little."""
    made: list[TaskSpec] = []
    busy = dice.choice([0.0, 0.05, 0.3])
    for number in range(dice.randint(3, 40)):
        ids = [spec.id for spec in made]
        made.append(
            TaskSpec(
                id=number,
                function=f"m:{dice.choice(['seed', 'bad']) if dice.random() < busy else 'ok'}",
                after=tuple(dice.sample(ids, min(len(ids), 1 + (dice.random() < busy)))) if dice.random() < 0.2 else (),
                prefer_after=tuple(dice.sample(ids, min(len(ids), 1))) if dice.random() < busy else (),
                priority=dice.choice([0, 0, 0, 1, -1]),
                retries=dice.choice([0, 0, 1, 2]),
                group="g" if dice.random() < busy / 3 else None,
                cpus=dice.choice([1.0, 2.0]) if dice.random() < busy / 3 else 0.0,
                timeout_s=60.0 if dice.random() < busy / 3 else None,
            )
        )
    return made


@pytest.mark.parametrize("overlooks", [0, 3])
@pytest.mark.parametrize("strict", [False, True])
def test_at_one_slot_everything_begins_in_the_order_that_it_has_without(strict: bool, overlooks: int) -> None:
    went_ahead = brought_back = 0
    for seed in range(50):
        tasks = random_calls(random.Random(seed))
        without = stage_of(*tasks, strict=strict)
        without.drive()
        stage = stage_of(*tasks, strict=strict)
        executor = Ahead(stage.machine, overlooks=overlooks)
        stage.drive(executor=executor)
        assert order(stage) == order(without), seed
        assert stage.decisions() == without.decisions(), seed
        stage.check_sound()
        went_ahead += len(executor.taken)
        brought_back += executor.brought_back
    assert went_ahead > 80
    assert (brought_back > 40) == bool(overlooks)


@pytest.mark.parametrize("backoff_s", [0.0, 0.002])
def test_at_several_slots_the_same_is_decided(backoff_s: float) -> None:
    went_ahead = 0
    for seed in range(50):
        tasks = random_calls(random.Random(seed))
        without = stage_of(*tasks, backoff_s=backoff_s)
        without.drive()
        stage = stage_of(*tasks, slots=3, backoff_s=backoff_s)
        executor = Ahead(stage.machine, overlooks=5)
        stage.drive(executor=executor)
        assert stage.decisions() == without.decisions(), seed
        stage.check_sound()
        went_ahead += len(executor.taken)
    assert went_ahead > 80


def test_what_a_call_releases_begins_before_what_could_have_been_sent_ahead() -> None:
    stage = stage_of(call("a"), call("later"), call("last"), call("urgent", "a", priority=1))
    stage.drive(executor=Ahead(stage.machine))
    assert [name for name, _ in order(stage)] == ["a", "urgent", "later", "last"]


def test_what_comes_after_all_others_holds_nobody_up() -> None:
    names = [f"m{number}" for number in range(9)]
    stage = stage_of(*(call(name) for name in names), call("sum", *names))
    executor = Ahead(stage.machine)
    stage.drive(executor=executor)
    assert [name for name, _ in order(stage)] == [*names, "sum"]
    assert len(executor.taken) >= 7


@pytest.mark.parametrize("budget", ["budget_usd", "budget_tokens", "budget_time_s", "max_attempts"])
def test_with_a_budget_nothing_is_sent_ahead(budget: str) -> None:
    stage = stage_of(*(call(number) for number in range(8)), **{budget: 1000})
    executor = Ahead(stage.machine)
    assert stage.drive(executor=executor).phase is RunPhase.FINISHED
    assert executor.taken == []


def test_a_failure_under_strict_begins_nothing_more() -> None:
    stage = stage_of(call("a"), call("b", does="bad"), *(call(number) for number in range(8)), strict=True)
    stage.drive(executor=Ahead(stage.machine))
    assert [name for name, _ in order(stage)] == ["a", "b"]
    assert set(stage.phases().values()) == {"done", "failed", "skipped"}


def test_a_full_disk_in_one_slot_waits_for_what_has_begun_in_another() -> None:
    """A call that begins while the run pauses would set it going again."""
    stage = stage_of(call("bad", does="disk_full"), *(call(number) for number in range(20)), slots=2)
    assert stage.drive(executor=Ahead(stage.machine)).phase is RunPhase.PAUSED
    kinds = [type(event) for event in stage.events()]
    assert e.AttemptQueued not in kinds[kinds.index(e.RunPaused) :]
    assert set(stage.machine.ran) == {f"{n}.1" for n, task in enumerate(stage.state().tasks) if task.attempts}
    stage.check_sound()


def _asked_in_between(kind: str, body: str = "") -> tuple[Stage, Ahead]:
    """Ask something of a run while calls are ahead and one was taken of which nobody has heard."""
    stage = stage_of(*(call(number) for number in range(30)))
    executor = Ahead(stage.machine, meanwhile=lambda: stage.ask(kind, body=body))
    stage.drive(executor=executor)
    stage.check_sound()
    return stage, executor


def test_a_pause_takes_back_what_has_not_begun() -> None:
    stage, executor = _asked_in_between("pause")
    state = stage.state()
    assert state.phase is RunPhase.PAUSED
    assert set(stage.machine.ran) == {f"{task.number}.1" for task in state.tasks if task.attempts}
    assert 0 < len(stage.machine.ran) < 30
    assert not executor.bag
    assert stage.drive(executor=Ahead(stage.machine)).phase is RunPhase.FINISHED
    assert set(stage.machine.ran.values()) == {1}


def test_a_task_that_is_cancelled_before_it_begins_never_does() -> None:
    stage, _ = _asked_in_between("cancel", "[29, 28, 3]")
    phases = stage.phases()
    assert [phases[number] for number in (28, 29)] == ["cancelled", "cancelled"]
    assert not {"28.1", "29.1"} & set(stage.machine.ran)
    assert ("3.1" in stage.machine.ran) == (phases[3] == "done")


def test_a_run_that_is_cancelled_records_what_has_begun() -> None:
    stage, _ = _asked_in_between("cancel")
    assert stage.state().phase is RunPhase.CANCELLED
    assert set(stage.machine.ran) == {f"{task.number}.1" for task in stage.state().tasks if task.attempts}


def test_a_driver_that_stops_leaves_when_all_is_told_that_has_begun() -> None:
    stage = stage_of(*(call(number) for number in range(30)))

    def stop() -> None:
        assert stage.driver is not None
        stage.driver.stop()

    verdict = stage.drive(executor=Ahead(stage.machine, meanwhile=stop))
    assert verdict.exit_code == Exit.INTERRUPTED
    assert set(stage.machine.ran) == {f"{task.number}.1" for task in stage.state().tasks if task.attempts}
    assert stage.drive().phase is RunPhase.FINISHED
    assert set(stage.machine.ran.values()) == {1}


def test_what_nobody_took_is_begun_where_a_slot_is_free() -> None:
    """The worker in front does not come back: the others take what it left."""
    stage = stage_of(call("quick"), call("slow", does="hold"), *(call(number) for number in range(9)), slots=2)

    def release(event: e.Event, _: object) -> None:
        if isinstance(event, e.AttemptEnded) and event.task == 8:
            stage.machine.end("1.1")

    assert stage.drive(executor=Ahead(stage.machine), on=release).phase is RunPhase.FINISHED
    assert [event.task for event in stage.of_kind(e.AttemptEnded) if isinstance(event, e.AttemptEnded)][-1] == "slow"
