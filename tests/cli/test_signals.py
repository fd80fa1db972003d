"""Ctrl-C once and twice, TERM, HUP: nothing is lost, and it is said what goes on."""

import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from tests.cli.world import HELD, Budwood, send, send_aside, task, wait_for

from budwood._core.events import AttemptStarted


def held_plan(budwood: Budwood) -> None:
    budwood.plan(task("a", HELD), task("b", HELD), task("c", after=["a", "b"]))


def test_ctrl_c_once_starts_nothing_new_and_waits_for_what_runs(budwood: Budwood) -> None:
    held_plan(budwood)
    terminal = budwood.terminal("run", "plan.toml")
    budwood.wait_began("a", "b")
    terminal.press("\x03")
    terminal.wait_text("stopping: nothing new starts; waiting for 2 running tasks: a, b")
    terminal.wait_text("Ctrl-C again leaves at once; they go on")
    budwood.let_go()
    assert terminal.wait() == 130
    assert "plan: interrupted; 2 done of 3" in terminal.text
    assert "hint: budwood resume plan" in terminal.text
    assert budwood.lines("began-c") == []
    assert "plan: 3 done" in budwood.call("resume", "plan").err


def test_ctrl_c_twice_leaves_at_once_and_attempts_go_on(budwood: Budwood) -> None:
    held_plan(budwood)
    terminal = budwood.terminal("run", "plan.toml")
    budwood.wait_began("a", "b")
    terminal.press("\x03")
    terminal.wait_text("Ctrl-C again")
    terminal.press("\x03")
    assert terminal.wait() == 130
    assert "2 tasks go on without a driver: a, b" in terminal.text
    assert "hint: budwood resume plan" in terminal.text
    assert budwood.lines("did-a") == []
    assert budwood.driver() is None
    budwood.let_go()
    wait_for(lambda: budwood.lines("did-a") and budwood.lines("did-b"), what="attempts to go on alone")
    assert "plan: 3 done" in budwood.call("resume", "plan").err
    assert budwood.lines("began-a") == ["1"]


def test_a_signal_that_does_not_end_the_wait_for_news_is_heard(budwood: Budwood) -> None:
    budwood.plan(task("a", HELD))
    driver = budwood.start("run", "plan.toml")
    budwood.wait_began("a")
    wait_for(lambda: any(isinstance(event, AttemptStarted) for event in budwood.events()), what="the last news")
    time.sleep(1.0)  # by now it waits for the next, and nothing happens any more
    send_aside(driver, signal.SIGTERM)
    assert driver.wait(5) != 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_term_and_hup_leave_at_once(budwood: Budwood, number: signal.Signals) -> None:
    held_plan(budwood)
    driver = budwood.start("run", "plan.toml")
    budwood.wait_began("a", "b")
    send(driver, number)
    said = budwood.finish(driver)
    assert said.code == 130
    assert "2 tasks go on without a driver: a, b" in said.err
    budwood.let_go()
    assert "plan: 3 done" in budwood.call("resume", "plan").err
    assert budwood.lines("began-a") == ["1"]


def test_a_terminal_that_is_closed_ends_the_driver_and_not_the_attempts(budwood: Budwood) -> None:
    held_plan(budwood)
    terminal = budwood.terminal("run", "plan.toml")
    budwood.wait_began("a", "b")
    terminal.hang_up()
    assert terminal.wait() == 130
    wait_for(lambda: budwood.driver() is None, what="the driver to leave")
    budwood.let_go()
    assert "plan: 3 done" in budwood.call("resume", "plan").err
    assert budwood.lines("began-a") == ["1"]


def test_a_stop_whose_last_tasks_end_meanwhile_is_a_finished_run(budwood: Budwood) -> None:
    budwood.plan(task("a", HELD))
    driver = budwood.start("run", "plan.toml")
    budwood.wait_began("a")
    send(driver, signal.SIGINT)
    assert driver.stderr is not None
    assert any("stopping" in line for line in iter(driver.stderr.readline, ""))
    budwood.let_go()
    said = budwood.finish(driver)
    assert said.code == 0
    assert "plan: 1 done" in said.err


def test_a_signal_that_was_to_be_ignored_stays_ignored(budwood: Budwood) -> None:
    budwood.plan(task("a", HELD))
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
    try:
        driver = budwood.start("run", "plan.toml")
    finally:
        signal.signal(signal.SIGHUP, before)
    budwood.wait_began("a")
    send(driver, signal.SIGHUP)
    budwood.let_go()
    assert budwood.finish(driver).code == 0


def test_ctrl_c_ends_no_git_of_the_driver(budwood: Budwood) -> None:
    began = slow_git(budwood)
    step = "[[step]]\\ndo = 'write'\\npath = '{}.txt'\\ntext = 'x'"
    tasks = "".join(f'[[task]]\nid = "{name}"\nprompt = "{step.format(name)}"\n' for name in "ab")
    budwood.plan('[run]\nagent = "script"\nslots = 1\nretries = 0\n', tasks)
    terminal = budwood.terminal("run", "plan.toml")
    wait_for(lambda: terminal.read() and began.exists(), what="git to lay a directory out")
    terminal.press("\x03")
    assert terminal.wait() == 130
    shown = budwood.call("status", "plan", code=None).out
    assert "git" not in shown.partition("because")[2].partition("\n")[0]
    assert "outside the determinism promise" not in budwood.call("resume", "plan").err
    assert [task.tries for task in budwood.state().tasks] == [1, 1]


def slow_git(budwood: Budwood) -> Path:
    """Make the project a repository, and git take its time over the files of a directory; return what tells of that."""
    git = shutil.which("git")
    assert git is not None
    identity = ["-c", "user.name=n", "-c", "user.email=n@x.org"]
    for words in (["init", "-q"], ["add", "-A"], [*identity, "commit", "-qm1", "--allow-empty"]):
        subprocess.run([git, *words], cwd=budwood.root, env=budwood.env, check=True)
    programs, began = budwood.root.parent / "programs", budwood.root.parent / "git-began"
    programs.mkdir()
    slow = f'case "$*" in *read-tree*--reset*) touch "{began}"; sleep 0.7;; esac'
    (programs / "git").write_text(f'#!/bin/sh\n{slow}\nexec {git} "$@"\n')
    (programs / "git").chmod(0o755)
    budwood.env["PATH"] = f"{programs}:{budwood.env['PATH']}"
    return began
