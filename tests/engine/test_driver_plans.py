"""What a driver makes of settings, edited plans and budgets."""

import msgspec
import pytest
from tests.engine.stage import RUN, Killed, Stage, at, ended, started, task

from budwood._core import events as e
from budwood._core.model import RunPhase, RunSettings
from budwood._core.state import RunState
from budwood.engine.opening import go_on
from budwood.engine.verdict import Exit
from budwood.errors import PlanError, UsageError
from budwood.stores.memory import MemoryStore
from budwood.testing.executors import succeeded

pytestmark = pytest.mark.timeout(60)


def test_settings_that_change_on_resume_are_named() -> None:
    stage = Stage(task("a", run="hold"), task("b"), task("c"), slots=1)
    stage.drive(on=started("a", stage.leave))
    stage.drive(
        opening=go_on(changes={"slots": 3, "grace_s": 1.0}), on=at(e.AttemptAdopted, lambda: stage.machine.end("0.1"))
    )
    [changed] = stage.of_kind(e.SettingsChanged)
    assert isinstance(changed, e.SettingsChanged)
    assert (changed.changed, changed.settings.slots) == (("slots", "grace_s"), 3)
    assert {work.slot for work in stage.machine.works} == {0, 1, 2}


def test_fewer_slots_than_attempts_were_adopted_start_nothing_new() -> None:
    stage = Stage(*(task(n, run="hold") for n in range(3)), *(task(n) for n in range(3, 6)), slots=3)
    stage.drive(on=started(2, stage.leave))
    stage.machine.end("0.1")  # so that the first slot is free, and the others are not
    open_then: list[int] = []

    def watch(event: e.Event, state: RunState) -> None:
        if isinstance(event, e.AttemptQueued):
            open_then.append(len(state.open))
        if isinstance(event, e.SettingsChanged):
            stage.machine.end("1.1")
        if isinstance(event, e.AttemptEnded) and event.task == 1:
            stage.machine.end("2.1")

    stage.drive(opening=go_on(changes={"slots": 1}), on=watch)
    assert open_then == [1, 1, 1]


def test_a_run_keeps_its_seed() -> None:
    stage = Stage(task("a", run="bad"))
    stage.drive()
    before = stage.events()
    with pytest.raises(UsageError, match="a run keeps its seed"):
        stage.drive(opening=go_on(changes={"seed": 8}))
    assert stage.events() == before
    assert MemoryStore(stage.world).holder(RUN) is None


def test_an_edited_plan_runs_only_what_is_new() -> None:
    stage = Stage(task("a"), task("b", "a"), task("c"))
    stage.drive()
    edited = [task("a"), task("b", "a", run="seed"), task("d")]
    verdict = stage.drive(opening=go_on(plan=(edited, ())))
    assert verdict.tasks == 3
    assert stage.phases().keys() == {"a", "b", "d"}
    assert sorted(stage.machine.ran) == ["0.1", "1.1", "1.2", "2.1", "3.1"]
    stage.check_sound()


def test_a_wrong_plan_is_refused_before_anything_is_written() -> None:
    stage = Stage(task("a", "b"), task("b", "a"))
    with pytest.raises(PlanError, match="Circular dependencies"):
        stage.drive()
    assert stage.events() == []
    assert MemoryStore(stage.world).holder(RUN) is None


@pytest.mark.parametrize("edit", ["removed", "changed"])
def test_an_edit_ends_what_runs_on_the_old_plan(edit: str) -> None:
    stage = Stage(task("a", run="hold"), task("b"), slots=2)
    stage.drive(on=started("a", stage.leave))
    stage.machine.script = lambda work: succeeded()
    plan = [task("b")] if edit == "removed" else [task("a", run="ok"), task("b")]
    verdict = stage.drive(opening=go_on(plan=(plan, ())))
    assert verdict.exit_code == Exit.GOAL_MET
    assert stage.machine.cancelled == ["0.1"]
    assert sorted(stage.machine.ran) == (["0.1", "1.1"] if edit == "removed" else ["0.1", "0.2", "1.1"])
    stage.check_sound()


def test_a_removed_attempt_that_is_slow_to_die_is_adopted_by_the_next_driver() -> None:
    stage = Stage(task("a", run="hold"), task("b", run="hold"), slots=2)
    stage.machine.obeys_cancel = False
    stage.drive(on=started("b", stage.leave))
    stage.drive(opening=go_on(plan=([task("b", run="hold")], ())), on=at(e.PlanRevised, stage.leave))
    assert stage.machine.cancelled == ["0.1"]

    stage.machine.obeys_cancel = True
    verdict = stage.drive(on=ended("a", lambda: stage.machine.end("1.1")))
    assert verdict.exit_code == Exit.GOAL_MET
    assert stage.machine.cancelled == ["0.1", "0.1"]  # told again: the driver before may not have got round to it
    stage.check_sound()


@pytest.mark.parametrize("edit", ["cancelled", "removed", "changed"])
def test_an_attempt_that_was_never_sent_and_is_not_wanted_any_more_never_runs(edit: str) -> None:
    stage = Stage(task("a"), task("b"), slots=1)

    def probe(point: str) -> None:
        if point == "before StartAttempt":
            raise Killed

    with pytest.raises(Killed):
        stage.drive(probe=probe)
    assert stage.state().open
    assert not stage.machine.ran
    match edit:
        case "cancelled":
            stage.ask("cancel", body='["a"]')
            stage.drive()
            assert stage.machine.ran["1.1"] == 1
        case "removed":
            stage.drive(opening=go_on(plan=([task("b")], ())))
            assert dict(stage.machine.ran) == {"1.1": 1}
        case _:
            stage.drive(opening=go_on(plan=([task("a", run="seed"), task("b")], ())))
            assert dict(stage.machine.ran) == {"0.2": 1, "1.1": 1}
    assert stage.state().phase is RunPhase.FINISHED
    stage.check_sound()


@pytest.mark.parametrize(
    ("limits", "more"),
    [
        ({"budget_usd": 1.0}, {"budget_usd": 9.0}),
        ({"max_attempts": 2}, {"max_attempts": 9}),
        ({"budget_tokens": 100}, {"budget_tokens": 999}),
    ],
    ids=str,
)
def test_a_spent_budget_pauses_with_its_own_exit_code(limits: dict[str, object], more: dict[str, object]) -> None:
    settings = msgspec.structs.replace(RunSettings(seed=1), **limits)
    tasks = [msgspec.structs.replace(task(n, usd=0.5), reserve_tokens=50) for n in range(4)]
    stage = Stage(*tasks, settings=settings, slots=1)
    verdict = stage.drive()
    assert (verdict.phase, verdict.exit_code) == (RunPhase.PAUSED, Exit.BUDGET)
    assert verdict.reason.startswith("budget spent: ")
    assert verdict.externals == {"budget": 1}
    ran = dict(stage.machine.ran)
    assert len(ran) <= 2
    assert stage.drive().exit_code == Exit.BUDGET
    assert dict(stage.machine.ran) == ran  # going on without a larger budget starts nothing
    assert stage.drive(opening=go_on(changes=more)).exit_code == Exit.GOAL_MET
    stage.check_sound()


def test_time_that_runs_out_while_something_runs_pauses_without_waiting_for_its_end() -> None:
    stage = Stage(task("a", run="hold"), task("b"), settings=RunSettings(budget_time_s=0.05), slots=1)
    verdict = stage.drive(on=at(e.RunPaused, lambda: stage.machine.end("0.1")))
    assert (verdict.exit_code, stage.phases()) == (Exit.BUDGET, {"a": "done", "b": "ready"})
    assert stage.drive().exit_code == Exit.BUDGET
    assert list(stage.machine.ran) == ["0.1"]
    assert stage.drive(opening=go_on(changes={"budget_time_s": 60.0})).exit_code == Exit.GOAL_MET


def test_a_full_disk_pauses_and_nothing_is_lost() -> None:
    stage = Stage(task("a", run="disk_full"), task("b", "a"), slots=1)
    verdict = stage.drive()
    assert (verdict.phase, verdict.exit_code) == (RunPhase.PAUSED, Exit.WAITS)
    assert verdict.reason == "task a: it was disk_full"
    stage.machine.script = lambda work: succeeded()
    assert stage.drive().exit_code == Exit.GOAL_MET
    assert stage.state().task("a").tries == 1


def test_a_plan_that_cannot_start_on_this_machine_pauses_instead_of_hanging() -> None:
    stage = Stage(task("a", run="hold"), task("b", "a", cpus=4.0), slots=1)

    def stop() -> None:
        assert stage.driver is not None
        stage.driver.stop()
        stage.machine.end("0.1")

    stage.drive(on=started("a", stop))
    verdict = stage.drive(opening=go_on(changes={"cpus": 2.0}))
    assert (verdict.exit_code, stage.state().pause_kind) == (Exit.WAITS, "limits")
    assert stage.drive(opening=go_on(changes={"cpus": 4.0})).exit_code == Exit.GOAL_MET
