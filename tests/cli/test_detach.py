"""--detach: the driver survives the terminal."""

import os
import re
import signal

import pytest
from tests.cli.world import HELD, Budwood, task, wait_for

pytestmark = pytest.mark.slow


def test_it_returns_when_the_run_is_under_way_and_says_what_to_do(budwood: Budwood) -> None:
    budwood.plan(task("a", HELD), task("b", after=["a"]))
    said = budwood.call("run", "plan.toml", "--detach")
    assert said.out == "plan\n"
    for command in ("budwood watch plan", "budwood pause plan", "budwood logs plan"):
        assert command in said.err
    assert budwood.driver() is not None
    budwood.let_go()
    wait_for(lambda: budwood.driver() is None, what="the driver's end")
    assert budwood.state().phase == "finished"
    log = next((budwood.root / ".budwood" / "runs").glob("*/driver.log"))
    wait_for(lambda: "plan: 2 done" in log.read_text(), what="the driver's last words")


def test_it_has_a_session_of_its_own_and_survives_a_hang_up(budwood: Budwood) -> None:
    budwood.plan(task("a", HELD))
    said = budwood.call("run", "plan.toml", "--detach")
    found = re.search(r"as pid (\d+)", said.err)
    assert found is not None
    pid = int(found[1])
    assert os.getsid(pid) == pid
    os.kill(pid, signal.SIGHUP)
    budwood.let_go()
    wait_for(lambda: budwood.driver() is None, what="the driver's end")
    assert budwood.state().phase == "finished"


def test_a_failure_to_start_is_told_with_its_exit_code(budwood: Budwood) -> None:
    budwood.plan(task("a", HELD))
    driver = budwood.start("run", "plan.toml")
    budwood.wait_began("a")
    said = budwood.call("run", "plan.toml", "--detach", code=2)
    assert f"already driven by pid {driver.pid}" in said.err
    budwood.let_go()
    assert budwood.finish(driver).code == 0


def test_pause_and_resume_reach_a_detached_driver(budwood: Budwood) -> None:
    budwood.plan(task("a", HELD), task("b", after=["a"]))
    budwood.call("run", "plan.toml", "--detach")
    budwood.wait_began("a")
    budwood.call("pause", "plan")
    budwood.let_go()
    wait_for(lambda: budwood.driver() is None, what="the driver to leave")
    assert budwood.state().phase == "paused"
    budwood.call("resume", "plan", "--detach")
    wait_for(lambda: budwood.state().phase == "finished", what="the run's end")


def test_notify_works_without_a_terminal(budwood: Budwood) -> None:
    budwood.plan(task("a"))
    budwood.call("run", "plan.toml", "--detach", "--notify", "echo $BUDWOOD_STATE > told")
    wait_for(lambda: budwood.lines("told") == ["finished"], what="the notification")


def test_jsonl_is_refused_because_nobody_would_read_it(budwood: Budwood) -> None:
    budwood.plan(task("a"))
    said = budwood.call("run", "plan.toml", "--detach", "--jsonl", code=2)
    assert "--detach" in said.err
    assert not budwood.has_store
