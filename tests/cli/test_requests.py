"""pause, cancel and retry: with a driver that answers, and without one."""

import signal

import pytest
from tests.cli.world import HELD, Budwood, send, task, wait_for

from budwood._core.model import TaskPhase

pytestmark = pytest.mark.slow


def killed(budwood: Budwood, *began: str) -> None:
    """Start the plan and kill its driver when these tasks run."""
    driver = budwood.start("run", "plan.toml")
    budwood.wait_began(*began)
    send(driver, signal.SIGKILL)
    driver.wait()


def test_pause_lets_what_runs_finish_and_starts_nothing(budwood: Budwood) -> None:
    budwood.plan(task("a", HELD), task("b", after=["a"]))
    driver = budwood.start("run", "plan.toml")
    budwood.wait_began("a")
    said = budwood.call("pause", "plan")
    assert said.err == "plan: paused; 1 running, it may finish\n"
    budwood.let_go()
    done = budwood.finish(driver)
    assert done.code == 4
    assert "plan: paused (paused by request); 1 done of 2" in done.err
    assert "hint: budwood resume plan" in done.err
    assert budwood.lines("began-b") == []


def test_pause_without_a_driver_leaves_attempts_alone(budwood: Budwood) -> None:
    budwood.plan(task("a", HELD), task("b", after=["a"]))
    killed(budwood, "a")
    said = budwood.call("pause", "plan")
    assert "plan: paused; 1 running" in said.err
    assert budwood.state().phase == "paused"
    assert budwood.driver() is None
    budwood.let_go()
    assert "plan: 2 done" in budwood.call("resume", "plan").err
    assert budwood.lines("began-a") == ["1"]


def test_cancel_ends_what_runs_and_the_run(budwood: Budwood) -> None:
    budwood.plan(task("a", HELD), task("b", after=["a"]))
    driver = budwood.start("run", "plan.toml")
    budwood.wait_began("a")
    said = budwood.call("cancel", "plan")
    assert "plan: tasks cancelled: 2" in said.err
    done = budwood.finish(driver)
    assert done.code == 1
    assert "plan: cancelled; 2 cancelled of 2" in done.err
    assert budwood.lines("did-a") == []


def test_cancel_without_a_driver_waits_until_processes_are_gone(budwood: Budwood) -> None:
    budwood.plan(task("a", HELD), task("b", HELD), task("c", after=["a"]))
    killed(budwood, "a", "b")
    said = budwood.call("cancel", "plan")
    assert "plan: tasks cancelled: 3" in said.err
    assert budwood.state().phase == "cancelled"
    assert budwood.driver() is None
    budwood.let_go()
    assert budwood.lines("did-a") == []


def test_cancel_of_one_task_without_a_driver_leaves_the_others_running(budwood: Budwood) -> None:
    budwood.plan(task("a", HELD), task("b", HELD), task("c"), task("d", after=["a"]))
    killed(budwood, "a", "b")
    budwood.call("cancel", "plan", "a")
    state = budwood.state()
    assert state.task("a").phase is TaskPhase.CANCELLED
    assert state.task("b").phase is TaskPhase.ACTIVE
    assert state.task("d").phase is TaskPhase.SKIPPED
    budwood.let_go()
    budwood.call("resume", "plan", code=1)
    assert budwood.lines("began-b") == ["1"]


def test_cancel_of_an_ended_task_is_refused(budwood: Budwood) -> None:
    budwood.plan(task("a"), task("b", HELD, after=["a"]))
    driver = budwood.start("run", "plan.toml")
    budwood.wait_began("b")
    said = budwood.call("cancel", "plan", "a", code=2)
    assert "task a has ended: done" in said.err
    budwood.let_go()
    assert budwood.finish(driver).code == 0


def test_pause_and_cancel_of_a_finished_run_are_refused_without_a_trace(budwood: Budwood) -> None:
    budwood.plan(task("a"))
    budwood.call("run", "plan.toml")
    before = len(budwood.events())
    assert "run plan is finished" in budwood.call("pause", "plan", code=2).err
    assert "run plan is finished" in budwood.call("cancel", "plan", code=2).err
    assert len(budwood.events()) == before


def test_retry_without_a_driver_drives_what_did_not_succeed(budwood: Budwood) -> None:
    budwood.plan(task("bad", "echo x >> tries; [ -e fixed ]"), task("next", after=["bad"]), task("good"))
    budwood.call("run", "plan.toml", code=1)
    (budwood.root / "fixed").touch()
    said = budwood.call("retry", "plan")
    assert "plan: tasks wanted again: 2" in said.err
    assert "plan: 3 done" in said.err
    assert budwood.lines("tries") == ["x", "x"]
    assert budwood.lines("began-good") == ["1"]


def test_retry_with_a_driver_is_done_by_it(budwood: Budwood) -> None:
    budwood.plan(task("bad", "[ -e fixed ]"), task("held", HELD))
    driver = budwood.start("run", "plan.toml")
    budwood.wait_began("held")
    wait_for(lambda: budwood.state().task("bad").phase is TaskPhase.FAILED, what="bad to fail")
    (budwood.root / "fixed").touch()
    assert "plan: tasks wanted again: 1" in budwood.call("retry", "plan", "bad").err
    budwood.let_go()
    assert budwood.finish(driver).code == 0


def test_retry_takes_a_cancelled_run_up_again(budwood: Budwood) -> None:
    budwood.plan(task("a", HELD), task("b"))
    killed(budwood, "a")
    budwood.call("cancel", "plan")
    budwood.let_go()
    assert "plan: 2 done" in budwood.call("retry", "plan").err


def test_retry_of_what_succeeded_is_refused_and_nothing_is_driven(budwood: Budwood) -> None:
    budwood.plan(task("a"), task("b", HELD), task("c", after=["b"]))
    killed(budwood, "a", "b")
    wait_for(lambda: budwood.lines("did-a"), what="a")
    budwood.let_go()
    said = budwood.call("retry", "plan", "a", code=2)
    assert "task a is" in said.err
    assert budwood.lines("began-c") == []


def test_an_unknown_task_is_named_and_nothing_is_asked(budwood: Budwood) -> None:
    budwood.plan(task("build"), task("bad", "exit 1"))
    budwood.call("run", "plan.toml", code=1)
    said = budwood.call("retry", "plan", "biuld", code=2)
    assert "did you mean build?" in said.err


def test_pause_when_nothing_runs_says_that(budwood: Budwood) -> None:
    budwood.plan(task("a", HELD), task("b", after=["a"]))
    killed(budwood, "a")
    budwood.let_go()
    wait_for(lambda: "not yet taken" in budwood.call("status").out, what="a to end")
    assert budwood.call("pause", "plan").err == "plan: paused; nothing runs\n"
