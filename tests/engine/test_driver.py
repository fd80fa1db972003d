"""Whole runs: what a driver does, what it leaves when it goes, and what the next one makes of it."""

import os

import msgspec
import pytest
from tests.core.bench import CANCELLED
from tests.engine.stage import RUN, Stage, at, ended, started, task, together

from budwood._core import events as e
from budwood._core.model import AttemptPhase, LaneSpec, RunPhase, RunSettings
from budwood._core.state import RunState
from budwood.engine.opening import go_on
from budwood.engine.verdict import Exit
from budwood.errors import LeaseHeld, LeaseLost, PlanError, StoreUnwritable, UsageError
from budwood.stores.base import Commit, Lease
from budwood.stores.memory import MemoryStore, MemoryWorld
from budwood.testing.executors import Ending, FakeExecutor, failed, succeeded

pytestmark = pytest.mark.timeout(60)


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


def test_a_run_ends_well() -> None:
    stage = Stage(task("a"), task("b", "a"), task("c"))
    verdict = stage.drive()
    assert (verdict.phase, verdict.exit_code) == (RunPhase.FINISHED, Exit.GOAL_MET)
    assert verdict.counts["done"] == verdict.tasks == verdict.attempts == 3
    assert sorted(stage.machine.forgotten) == ["0.1", "1.1", "2.1"]
    assert MemoryStore(stage.world).log(RUN, 0, 1) == b"fine\n"
    assert MemoryStore(stage.world).holder(RUN) is None
    stage.check_sound()


def test_an_attempt_gets_its_command_place_and_names() -> None:
    stage = Stage(task("a"), settings=RunSettings(gpus=("0", "1"), grace_s=2.5, output_bytes=99, contain="namespace"))
    stage.drive()
    [work] = stage.machine.works
    assert work.steps[0].argv == ("ok",)
    assert work.cwd == work.env["BUDWOOD_WORKSPACE"] == "/project"
    assert (work.env["BUDWOOD_RUN"], work.env["BUDWOOD_TASK"], work.env["BUDWOOD_ATTEMPT"]) == ("night", "a", "1")
    assert work.env["CUDA_VISIBLE_DEVICES"] == ""
    assert (work.grace_s, work.output_bytes, work.contain) == (2.5, 99, "namespace")


def test_failures_are_retried_and_then_skip_what_stands_on_them() -> None:
    stage = Stage(task("a", run="bad", retries=2), task("b", "a"), task("c"))
    verdict = stage.drive()
    assert (verdict.phase, verdict.exit_code) == (RunPhase.FINISHED, Exit.NOT_MET)
    assert (verdict.failed, verdict.skipped) == (("a",), ("b",))
    assert [work for work in stage.machine.ran if work.startswith("0.")] == ["0.1", "0.2", "0.3"]
    stage.check_sound()


def test_a_long_back_off_is_waited_for() -> None:
    stage = Stage(task("a", run="bad", retries=1), settings=RunSettings(seed=16, backoff_s=1.0))
    stage.drive()
    assert len(stage.of_kind(e.RunWaiting)) == 1
    first, second = (each for each in stage.heard if isinstance(each.event, e.AttemptQueued))
    [told] = [each.event for each in stage.heard if isinstance(each.event, e.AttemptEnded) and each.event.backoff_s]
    assert second.at_ms - first.at_ms >= told.backoff_s * 1000 - 2


def test_any_number_of_slots_decides_the_same() -> None:
    logs = []
    for slots in (1, 2, 8):
        stage = layered(slots=slots)
        stage.drive()
        stage.check_sound()
        logs.append(stage.decisions())
    assert logs[0] == logs[1] == logs[2]


# --- requests ---


def test_a_pause_lets_what_runs_finish_and_starts_nothing() -> None:
    stage = Stage(task("a", run="hold"), task("b", "a"), task("c", "a"), slots=1)
    pause = started("a", lambda: stage.ask("pause"))
    release = at(e.RunPaused, lambda: stage.machine.end("0.1"))
    verdict = stage.drive(on=together(pause, release))
    assert (verdict.phase, verdict.exit_code) == (RunPhase.PAUSED, Exit.WAITS)
    assert verdict.reason == "paused by request"
    assert stage.phases() == {"a": "done", "b": "ready", "c": "ready"}
    assert stage.answers() == [("pause", "taken", "paused; 1 running, it may finish")]
    assert stage.drive().exit_code == Exit.GOAL_MET
    stage.check_sound()


def test_a_paused_run_goes_on_when_somebody_asks_while_something_runs() -> None:
    stage = Stage(task("a", run="hold"), task("b"), slots=1)
    verdict = stage.drive(
        on=together(
            started("a", lambda: stage.ask("pause")),
            at(e.RunPaused, lambda: stage.ask("resume")),
            at(e.RunResumed, lambda: stage.machine.end("0.1")),
        )
    )
    assert verdict.exit_code == Exit.GOAL_MET
    assert [kind for kind, _, _ in stage.answers()] == ["pause", "resume"]


def test_cancelling_a_run_ends_what_runs_and_gives_up_the_rest() -> None:
    stage = Stage(task("a", run="hold"), task("b", "a"), task("c"), task("d"), slots=1)
    verdict = stage.drive(on=started("a", lambda: stage.ask("cancel")))
    assert (verdict.phase, verdict.exit_code) == (RunPhase.CANCELLED, Exit.NOT_MET)
    assert set(stage.phases().values()) == {"cancelled"}
    assert stage.machine.cancelled == ["0.1"]
    assert verdict.externals == {"cancel": 1}
    stage.check_sound()


def test_cancelling_one_task_skips_what_stands_on_it_and_the_rest_goes_on() -> None:
    stage = Stage(task("a", run="hold"), task("b", "a"), task("c"))
    verdict = stage.drive(on=started("a", lambda: stage.ask("cancel", body='["a"]')))
    assert stage.phases() == {"a": "cancelled", "b": "skipped", "c": "done"}
    assert (verdict.phase, verdict.exit_code) == (RunPhase.FINISHED, Exit.NOT_MET)


def test_a_finished_run_is_taken_up_by_a_retry() -> None:
    stage = Stage(task("a", run="bad"), task("b", "a"), task("c"))
    stage.drive()
    stage.machine.script = lambda work: succeeded()
    stage.ask("retry")
    verdict = stage.drive()
    assert verdict.exit_code == Exit.GOAL_MET
    assert [kind for kind, state, _ in stage.answers() if state == "taken"] == ["retry"]
    assert sorted(stage.machine.ran) == ["0.1", "0.2", "1.1", "2.1"]
    stage.check_sound()


@pytest.mark.parametrize(
    ("kind", "body", "why"),
    [
        ("dream", "", "a run does not understand 'dream'"),
        ("resume", "", "run night is active, not paused"),
        ("cancel", '["nobody"]', "run night has no task nobody"),
        ("cancel", "no json", "a request names tasks as a JSON list of ids"),
        ("cancel", '{"a": 1}', "a request names tasks as a JSON list of ids"),
        ("cancel", "[]", "a request for some tasks names none"),
        ("retry", '["a"]', "task a is active; only what failed"),
        ("retry", "", "run night has no failed, cancelled or skipped task"),
    ],
)
def test_what_cannot_be_done_is_refused_and_the_run_goes_on(kind: str, body: str, why: str) -> None:
    stage = Stage(task("a", run="hold"), task("b", "a"))
    verdict = stage.drive(
        on=together(
            started("a", lambda: stage.ask(kind, body=body)),
            at(e.RequestRefused, lambda: stage.machine.end("0.1")),
        )
    )
    assert verdict.exit_code == Exit.GOAL_MET
    [(_, state, answer)] = stage.answers()
    assert state == "refused"
    assert answer.startswith(why)


def test_a_task_that_is_named_twice_is_cancelled_once() -> None:
    stage = Stage(task(7, run="hold"), task(8), slots=1)
    cancel = started(7, lambda: stage.ask("cancel", body='[8, 7, "8", "7"]'))
    stage.drive(on=cancel)
    assert stage.phases() == {7: "cancelled", 8: "cancelled"}
    assert stage.machine.cancelled == ["0.1"]


def test_requests_that_were_made_while_nobody_drove_are_answered_first() -> None:
    stage = Stage(task("a", run="hold"), task("b"), slots=1)
    stage.drive(on=started("a", stage.leave))
    stage.ask("cancel", body='["b"]')
    stage.ask("pause")
    verdict = stage.drive(on=at(e.RunPaused, lambda: stage.machine.end("0.1")), opening=go_on(unpause=False))
    assert [state for _, state, _ in stage.answers()] == ["taken", "taken"]
    assert stage.phases() == {"a": "done", "b": "cancelled"}
    assert verdict.phase is RunPhase.FINISHED  # what was running was the last


def test_an_end_that_is_told_within_a_command_wakes_the_driver() -> None:
    """What waits for a place on the machine ends as soon as it is cancelled, and nothing else would ever happen."""

    class Prompt(FakeExecutor):
        def cancel(self, work_id: str) -> None:
            super().cancel(work_id)
            self._listen()

    stage = Stage(task("a", run="hold"), slots=1)
    verdict = stage.drive(on=started("a", lambda: stage.ask("cancel")), executor=Prompt(stage.machine))
    assert verdict.phase is RunPhase.CANCELLED


# --- leaving ---


def test_stopped_once_it_waits_for_what_runs_and_starts_nothing() -> None:
    stage = Stage(task("a", run="hold"), task("b", "a"), task("c"), slots=1)

    def stop() -> None:
        assert stage.driver is not None
        stage.driver.stop()
        stage.machine.end("0.1", failed())

    verdict = stage.drive(on=started("a", stop))
    assert verdict.exit_code == Exit.INTERRUPTED
    assert stage.phases() == {"a": "failed", "b": "skipped", "c": "ready"}
    assert list(stage.machine.ran) == ["0.1"]
    assert stage.drive().phase is RunPhase.FINISHED
    assert stage.phases()["c"] == "done"
    stage.check_sound()


def test_stopped_while_the_last_one_runs_it_is_finished() -> None:
    stage = Stage(task("a", run="hold"))

    def stop() -> None:
        assert stage.driver is not None
        stage.driver.stop()
        stage.machine.end("0.1")

    assert stage.drive(on=started("a", stop)).exit_code == Exit.GOAL_MET


def test_stopped_at_once_it_leaves_and_the_next_driver_adopts_what_runs() -> None:
    stage = Stage(task("a", run="hold"), task("b", "a"))
    verdict = stage.drive(on=started("a", stage.leave))
    assert verdict.exit_code == Exit.INTERRUPTED
    assert verdict.running == ("a",)
    assert stage.of_kind(e.DriverStopped) == [e.DriverStopped(reason="interrupted")]
    assert stage.machine.running == ["0.1"]
    assert stage.machine.cancelled == []
    verdict = stage.drive(on=at(e.AttemptAdopted, lambda: stage.machine.end("0.1")))
    assert verdict.exit_code == Exit.GOAL_MET
    assert stage.of_kind(e.RunAccounted) == [
        e.RunAccounted(done=0, failed=0, skipped=0, cancelled=0, adopted=1, requeued=0, not_started=1, planned=2)
    ]
    stage.check_sound()


def test_a_driver_that_only_answers_requests_starts_nothing() -> None:
    stage = Stage(task("a"), task("b", run="hold"), slots=1)
    stage.drive(on=ended("a", stage.leave))
    stage.ask("pause")
    before = dict(stage.machine.ran)
    stage.drive(opening=go_on(unpause=False), stop="answered a request")
    assert stage.answers() == [("pause", "taken", "paused; 1 running, it may finish")]
    assert dict(stage.machine.ran) == before or stage.machine.ran["1.1"] == 1


# --- settings, plans and budgets ---


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


class Killed(BaseException):
    """A driver died."""


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


# --- machines that fail ---


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


# --- one driver ---


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


# --- what is written, and when ---


class Watched(MemoryStore):
    """A store that keeps its commits, and refuses one of them."""

    def __init__(self, world: MemoryWorld, *, refuse: int = -1) -> None:
        super().__init__(world)
        self.commits: list[Commit] = []
        self._refuse = refuse

    def append(self, lease: Lease, commit: Commit) -> None:
        if len(self.commits) == self._refuse:
            raise StoreUnwritable("the disk is full; nothing was written", hint="free some space, then resume")
        super().append(lease, commit)
        self.commits.append(commit)


def kinds(commit: Commit) -> list[str]:
    return [e.kind_of(recorded.event) for recorded in commit.events]


def test_each_turn_is_one_commit() -> None:
    stage = Stage(*(task(n) for n in range(5)), slots=5)
    store = Watched(stage.world)
    stage.drive(store=store)
    assert [kinds(commit) for commit in store.commits] == [
        ["run_created", "driver_started", "tasks_added"],
        ["attempt_queued"] * 5,
        [*["attempt_started", "attempt_ended"] * 5, "run_ended"],
        ["driver_stopped"],
    ]
    assert len(store.commits[2].logs) == 5


def test_that_an_attempt_began_is_written_soon_though_nothing_else_happens() -> None:
    stage = Stage(task("a", run="hold"))
    store = Watched(stage.world)
    stage.drive(store=store, on=started("a", lambda: stage.machine.end("0.1")))
    assert [kinds(commit) for commit in store.commits][2:4] == [["attempt_started"], ["attempt_ended", "run_ended"]]


def test_the_listener_hears_every_event_once_and_in_order() -> None:
    stage = layered()
    stage.drive(on=at(e.AttemptEnded, stage.leave))
    stage.drive()
    assert stage.heard == list(MemoryStore(stage.world).read(RUN))


def test_nothing_is_told_or_done_before_it_is_durable() -> None:
    stage = Stage(task("a"), task("b", "a"))
    done: list[int] = []

    def probe(point: str) -> None:
        if point.startswith("before ") and point != "before commit":
            done.append(len(stage.events()))
            assert len(stage.heard) == len(stage.events())

    stage.drive(probe=probe)
    assert len(done) == 4


def test_a_store_that_refuses_one_commit_leaves_a_run_that_can_be_resumed() -> None:
    plain = layered()
    store = Watched(plain.world)
    plain.drive(store=store)
    refused = 0
    for refuse in range(len(store.commits)):
        stage = layered()
        try:
            stage.drive(store=Watched(stage.world, refuse=refuse))
        except StoreUnwritable:
            refused += 1
        assert MemoryStore(stage.world).holder(RUN) is None
        stage.drive()
        assert stage.decisions() == plain.decisions(), f"commit {refuse}"
        stage.check_sound()
    assert refused > 0.8 * len(store.commits)  # a commit may have more in it, so not every run has as many


def test_killed_at_every_boundary_it_resumes_to_the_same_decisions() -> None:
    plain = layered()
    points: list[str] = []
    plain.drive(probe=points.append)
    died = 0
    for number in range(len(points)):
        stage = layered()
        left = number

        def probe(_: str) -> None:
            nonlocal left
            left -= 1
            if left < 0:
                raise Killed

        try:
            stage.drive(probe=probe)
        except Killed:
            died += 1
        stage.drive()
        assert stage.decisions() == plain.decisions(), f"{number} {points[number]}"
        stage.check_sound()
    assert died > 0.8 * len(points)  # a turn may have more in it, so not every run has as many points


def test_a_finished_run_is_left_as_it_is() -> None:
    stage = Stage(task("a"))
    stage.drive()
    verdict = stage.drive()
    assert verdict.exit_code == Exit.GOAL_MET
    assert dict(stage.machine.ran) == {"0.1": 1}
    assert stage.state().phase is RunPhase.FINISHED
