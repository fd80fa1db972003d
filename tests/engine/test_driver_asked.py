"""What a driver is asked for while it drives, and how it leaves."""

import pytest
from tests.engine.stage import Stage, at, ended, started, task, together

from budwood._core import events as e
from budwood._core.model import RunPhase
from budwood.engine.opening import go_on
from budwood.engine.verdict import Exit
from budwood.testing.executors import FakeExecutor, failed, succeeded

pytestmark = pytest.mark.timeout(60)


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
