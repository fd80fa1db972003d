"""What a driver does on a machine that fails, and that it is the only one."""

import os

import pytest
from tests.core.bench import CANCELLED
from tests.engine.stage import RUN, Stage, at, ended, started, task, together

from budwood._core import events as e
from budwood._core.model import AttemptPhase, RunPhase, RunSettings
from budwood.engine.verdict import Exit
from budwood.errors import LeaseHeld, LeaseLost
from budwood.stores.base import Lease
from budwood.stores.memory import MemoryStore, MemoryWorld
from budwood.testing.executors import Ending, failed, succeeded

pytestmark = pytest.mark.timeout(60)


def test_a_lost_supervisor_costs_nothing_but_the_attempt() -> None:
    stage = Stage(task("a", run="hold"))

    def lose() -> None:
        stage.machine.script = lambda work: succeeded()
        stage.machine.lose("0.1")

    assert stage.drive(on=started("a", lose)).exit_code == Exit.GOAL_MET
    phases = [row.phase for row in MemoryStore(stage.world).attempts(RUN)]
    assert phases == [AttemptPhase.ABANDONED, AttemptPhase.SUCCEEDED]
    assert stage.state().task("a").tries == 1


def test_an_attempt_that_a_shutdown_ended_is_tried_again() -> None:
    stage = Stage(task("a", run="hold"), task("b", "a"))
    stage.drive(on=started("a", stage.leave))
    stage.machine.script = lambda work: succeeded()
    stage.machine.end("0.1", Ending(CANCELLED))
    assert stage.drive().exit_code == Exit.GOAL_MET
    stage.check_sound()


def test_a_retired_slot_is_not_used_again() -> None:
    stage = Stage(task("a", run="hold"), task("b", run="hold"), *(task(n) for n in range(4)), slots=2)

    def retire() -> None:
        stage.machine.retire(0)
        stage.machine.end("0.1")

    def finish() -> None:
        stage.machine.end("1.1")

    assert stage.drive(on=together(started("b", retire), ended("a", finish))).exit_code == Exit.GOAL_MET
    assert [work.slot for work in stage.machine.works] == [0, 1, 1, 1, 1, 1]


def test_a_run_without_a_usable_slot_pauses() -> None:
    stage = Stage(task("a", run="hold"), task("b", "a"), task("c"), slots=1)

    def retire() -> None:
        stage.machine.retire(0)
        stage.machine.end("0.1", failed())

    verdict = stage.drive(on=started("a", retire))
    assert (verdict.phase, verdict.exit_code) == (RunPhase.PAUSED, Exit.WAITS)
    assert stage.state().pause_kind == "slots"
    assert stage.state().task("c").phase == "ready"


def test_a_run_that_waits_for_a_back_off_without_a_usable_slot_pauses_too() -> None:
    """Otherwise nobody would take the task up when its time has come."""
    stage = Stage(task("a", run="bad", retries=1), slots=1, settings=RunSettings(backoff_s=9.0))
    verdict = stage.drive(on=at(e.RunWaiting, lambda: stage.machine.retire(0)))
    assert (verdict.exit_code, stage.state().pause_kind) == (Exit.WAITS, "slots")


def test_a_slot_that_is_retired_by_the_last_attempt_pauses_nothing() -> None:
    stage = Stage(task("a", run="hold"), slots=1)

    def retire() -> None:
        stage.machine.retire(0)
        stage.machine.end("0.1")

    assert stage.drive(on=started("a", retire)).exit_code == Exit.GOAL_MET
    assert stage.of_kind(e.RunPaused) == []


def test_a_log_that_is_too_large_stays_where_it_is() -> None:
    stage = Stage(task("a"), task("b"))
    stage.machine.script = lambda work: succeeded(log=None if work.id == "0.1" else b"short\n")
    stage.drive()
    assert stage.machine.forgotten == ["1.1"]
    assert MemoryStore(stage.world).log(RUN, 1, 1) == b"short\n"


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_a_second_driver_is_refused_with_the_holders_name_and_leaves_nothing_open() -> None:
    stage = Stage(task("a", run="hold"))
    told: list[str] = []
    files: list[int] = []

    def second() -> None:
        files.append(open_files())
        mine = stage.driver
        with pytest.raises(LeaseHeld) as caught:
            stage.drive(holder="the second")
        stage.driver = mine
        told.append(caught.value.holder)
        files.append(open_files())
        stage.machine.end("0.1")

    assert stage.drive(on=started("a", second), holder="the first").exit_code == Exit.GOAL_MET
    assert told == ["the first"]
    assert files[0] == files[1]


def test_drives_leave_no_open_files() -> None:
    before = open_files()
    for _ in range(3):
        Stage(task("a")).drive()
    assert open_files() == before


def test_a_driver_that_lost_its_lease_writes_and_starts_nothing() -> None:
    stage = Stage(task("a", run="hold"), task("b", "a"), slots=1)
    seen: list[int] = []

    def usurp() -> None:
        lease = stage.world.runs[RUN].lease
        assert lease is not None
        stage.world.kill_holder(lease)
        MemoryStore(stage.world).acquire(RUN, "the second")
        seen.append(len(stage.events()))
        stage.machine.end("0.1")

    with pytest.raises(LeaseLost):
        stage.drive(on=started("a", usurp))
    assert len(stage.events()) == seen[0]
    assert dict(stage.machine.ran) == {"0.1": 1}
    assert MemoryStore(stage.world).holder(RUN) == "the second"


class Renewed(MemoryStore):
    """A store whose leases must be renewed."""

    def __init__(self, world: MemoryWorld) -> None:
        super().__init__(world)
        self.renewals = 0
        self.lose_at: int | None = None

    @property
    def renew_every_s(self) -> float | None:
        return 0.005

    def renew(self, lease: Lease) -> None:
        self.renewals += 1
        if self.renewals == self.lose_at:
            raise LeaseLost("somebody else drives it")
        super().renew(lease)


def test_a_lease_is_renewed_while_nothing_happens() -> None:
    stage = Stage(task("a", run="hold"))
    store = Renewed(stage.world)
    release = store.renew

    def renew(lease: Lease) -> None:
        release(lease)
        if store.renewals == 5:
            stage.machine.end("0.1")

    store.renew = renew  # type: ignore[method-assign]
    assert stage.drive(store=store).exit_code == Exit.GOAL_MET
    assert store.renewals >= 5


def test_a_driver_that_cannot_renew_leaves_at_once() -> None:
    stage = Stage(task("a", run="hold"))
    store = Renewed(stage.world)
    store.lose_at = 3
    with pytest.raises(LeaseLost, match="somebody else"):
        stage.drive(store=store)
    assert stage.machine.running == ["0.1"]
    assert stage.machine.cancelled == []
