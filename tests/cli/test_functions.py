"""Function tasks through the real program: results, errors, and a driver that is killed during a call."""

import signal
import sys

import pytest
from tests.cli.world import HELD, Budwood, send, task

WORK = """
import os, time

def double(number, *, plus=0):
    print("doubling", number)
    return number * 2 + plus

def fail():
    raise ValueError("the answer is no")

def held():
    with open("began-" + os.environ["BUDWOOD_TASK"], "a") as file:
        file.write(os.environ["BUDWOOD_ATTEMPT"] + "\\n")
    while not os.path.exists("go"):
        time.sleep(0.01)
    return "went"
"""


@pytest.fixture
def working(budwood: Budwood) -> Budwood:
    (budwood.root / "work.py").write_text(WORK)
    return budwood


def call(name: str, function: str, more: str = "") -> str:
    return f"[[task]]\nid = '{name}'\nfunction = 'work:{function}'\n{more}\n"


def test_a_function_is_called_and_what_it_returns_is_kept(working: Budwood) -> None:
    working.plan(call("a", "double", "args = [3]\nkwargs = { plus = 1 }"))
    assert "plan: 1 done" in working.call("run", "plan.toml").err
    assert "attempt 1 returned 7" in working.call("show", "plan", "a").out
    assert working.call("logs", "plan", "a").out == "doubling 3\n"


def test_a_function_that_raises_fails_its_task_and_its_traceback_is_the_log(working: Budwood) -> None:
    working.plan(call("a", "fail", "retries = 1"), call("b", "double", "args = [1]\nafter = ['a']"))
    said = working.call("run", "plan.toml", code=1)
    assert "ValueError: the answer is no" in said.err
    assert "skipped" in said.err
    assert 'raise ValueError("the answer is no")' in working.call("logs", "plan", "a").out


def test_a_call_ends_with_its_driver_and_is_made_again(working: Budwood) -> None:
    working.plan(call("a", "held"))
    driver = working.start("run", "plan.toml")
    working.wait_began("a")
    send(driver, signal.SIGKILL)
    driver.wait()
    if working.state().open:  # else it was killed before the call was written
        assert "the function will be called again" in working.call("status", "plan").out
    working.let_go()
    assert "plan: 1 done" in working.call("resume", "plan").err
    assert working.lines("began-a") == ["1", "1"]
    assert [task.attempts for task in working.state().tasks] == [1]


def test_a_call_can_be_cancelled(working: Budwood) -> None:
    working.plan(call("a", "held"), call("b", "double", "args = [1]"))
    driver = working.start("run", "plan.toml")
    working.wait_began("a")
    working.call("cancel", "plan", "a")
    assert "1 done, 1 cancelled" in working.finish(driver).err


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("function = 'work'", "it takes module:name of a Python function"),
        ("function = 'work:double'\nrun = 'true'", "has both run and function"),
        ("run = 'true'\nargs = [1]", "has args but no function"),
        ("function = 'work:double'\nargs = [2020-01-01]", "it takes a list of JSON values"),
        ("function = 'work:double'\nkwargs = { x = nan }", "it takes a table of JSON values"),
    ],
)
def test_what_is_wrong_with_a_call_is_said_before_anything_starts(working: Budwood, text: str, error: str) -> None:
    working.plan(f"[[task]]\nid = 'a'\n{text}\n")
    assert error in working.call("run", "plan.toml", code=2).err


@pytest.mark.parametrize("python", ["no/such/python", "no-such-python", "~/python", "work.py/python", "./work.py"])
def test_an_interpreter_that_cannot_be_run_is_refused_before_anything_starts(working: Budwood, python: str) -> None:
    working.plan(f"[run]\npython = '{python}'\n", call("a", "double", "args = [1]"))
    said = working.call("run", "plan.toml", code=2)
    assert f"python is '{python}', and " in said.err
    assert "interpreter that calls functions" in said.err
    assert not working.has_store


def test_an_interpreter_is_not_looked_for_where_nothing_is_called(working: Budwood) -> None:
    working.plan("[run]\npython = 'no/such/python'\n", task("a"))
    working.call("run", "plan.toml")


@pytest.mark.parametrize("command", ["resume", "retry", "run"])
def test_a_run_whose_interpreter_is_gone_is_refused_until_another_is_named(working: Budwood, command: str) -> None:
    old = working.root / "old-python"
    old.symlink_to(sys.executable)
    fails = call("b", "fail", "after = ['a']") if command == "retry" else ""
    working.plan(call("a", "held"), fails)
    driver = working.start("run", "plan.toml", "--python", "./old-python")
    working.wait_began("a")
    if command == "retry":
        working.let_go()
        assert working.finish(driver).code == 1
    else:
        send(driver, signal.SIGTERM)
        assert working.finish(driver).code == 130
    old.unlink()
    refused = ("run", "plan.toml", "--python", "./old-python") if command == "run" else (command, "plan")
    said = working.call(*refused, code=2)
    assert "old-python" in said.err
    if command != "run":
        assert f"budwood {command} plan --python PATH names another" in said.err
    (working.root / "new-python").symlink_to(sys.executable)
    working.let_go()
    again = ("run", "plan.toml") if command == "run" else (command, "plan")
    working.call(*again, "--python", "./new-python", code=1 if fails else 0)
    assert working.state().settings.python == str(working.root / "new-python")
    assert working.state().task("a").phase == "done"


def test_of_an_ended_run_it_is_said_how_it_gets_the_interpreter_that_is_set_now(working: Budwood) -> None:
    working.plan(call("a", "fail"))
    working.call("run", "plan.toml", code=1)
    (working.root / "new-python").symlink_to(sys.executable)
    said = working.call("run", "plan.toml", "--python", "./new-python", code=1)
    assert f"--python {working.root / 'new-python'} lets it call functions" in said.err


def test_what_ctrl_c_leaves_is_said_of_commands_and_calls_apart(working: Budwood) -> None:
    working.plan("[run]\nslots = 3\ncpus = 3\n", call("a", "held"), call("b", "held"), task("c", HELD))
    terminal = working.terminal("run", "plan.toml")
    working.wait_began("a", "b", "c")
    terminal.press("\x03")
    terminal.wait_text("commands go on, calls of functions end and are made again on resume")
    terminal.press("\x03")
    assert terminal.wait() == 130
    assert "1 task goes on without a driver: c" in terminal.text
    assert "2 calls ended with this driver, and are made again on resume: a, b" in terminal.text
    working.let_go()
    assert "plan: 3 done" in working.call("resume", "plan").err
    assert [working.lines(f"began-{name}") for name in "abc"] == [["1", "1"], ["1", "1"], ["1"]]
