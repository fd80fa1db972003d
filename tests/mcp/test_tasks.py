"""Tasks that agents create, change and cancel while the run goes on, through the official SDK's client."""

import signal
from collections import Counter

import pytest
from tests.cli.world import HELD, send, task, wait_for
from tests.mcp.clients import Call
from tests.mcp.talking import PRINT_ENV, Talking, error

from budwood._core import events as e
from budwood._core.model import TaskPhase

pytestmark = pytest.mark.slow


def test_a_task_creates_others_and_the_run_does_them(talking: Talking) -> None:
    calls: tuple[Call, ...] = (
        ("list_tasks", {}),
        ("create_task", {"description": "Say hello", "run": "echo hello > hello"}),
        ("create_task", {"description": "Say hello", "run": "echo hello > hello"}),
        ("create_task", {"description": "Then bye", "run": "cat hello > bye", "depends_on": ["say-hello"]}),
        ("create_task", {"description": "x", "run": "true", "depends_on": ["nope"]}),
        ("update_task", {"task": "say-hello", "depends_on": ["then-bye"]}),
        ("update_task", {"task": "then-bye", "priority": 7, "run": "cat hello hello > bye"}),
        ("create_task", {"description": "Never", "run": "touch never", "depends_on": ["a"], "priority": 1}),
        ("cancel_task", {"task": "never"}),
        ("cancel_task", {"task": "other"}),
        ("list_tasks", {"state": "blocked"}),
        ("get_context", {}),
        ("get_budget", {}),
    )
    talking.plan(
        "[run]\nslots = 1\nmax_attempts = 9\n", task("a", talking.speaking(*calls)), task("other", after=["a"])
    )
    talking.call("run", "plan.toml", code=1)  # what was cancelled was wanted
    listed, hello, again, bye, unknown, cycle, changed, never, gone, foreign, blocked, context, budget = (
        talking.answers()
    )
    assert [each["task"] for each in listed["tasks"]] == ["a", "other"]  # type: ignore[attr-defined]
    assert (hello["task"], again["task"], bye["task"], never["task"]) == ("say-hello", "say-hello", "then-bye", "never")
    assert error(unknown) == "depends_on names nope, and no task is called that"
    assert error(cycle) == "Circular dependencies detected: say-hello -> then-bye -> say-hello"
    assert changed["said"] == "updated then-bye"
    assert gone["said"] == "tasks cancelled: 1"
    assert error(foreign) == "task other was not created by task a, which may not touch it"
    assert [each["task"] for each in blocked["tasks"]] == ["other", "then-bye"]  # type: ignore[attr-defined]
    about = context["task"]
    assert isinstance(about, dict)
    assert (about["task"], about["before"], about["may_create"]) == ("a", ["other", "never"], 7)
    assert [each["task"] for each in about["created"]] == ["say-hello", "then-bye", "never"]
    assert budget["budget"]["attempts"] == {"limit": 9, "spent": 1, "reserved": 0, "left": 8}  # type: ignore[index]
    assert (talking.root / "bye").read_text() == "hello\nhello\n"
    assert not (talking.root / "never").exists()
    state = talking.state()
    assert [str(each.spec.id) for each in state.tasks] == ["a", "other", "say-hello", "then-bye", "never"]
    talking.call("store", "verify")


def test_a_plan_that_is_run_again_keeps_what_was_created(talking: Talking) -> None:
    calls: tuple[Call, ...] = (("create_task", {"description": "Later", "run": HELD, "depends_on": ["a"]}),)
    talking.plan(task("a", talking.speaking(*calls)))
    driver = talking.start("run", "plan.toml")
    talking.wait_began("later")
    send(driver, signal.SIGKILL)
    driver.wait()
    talking.let_go()
    talking.plan(task("a", talking.speaking(*calls)), task("b"))
    said = talking.call("run", "plan.toml")
    assert "the plan was edited: 1 added (b)" in said.err
    assert "plan: 3 done" in said.err
    assert talking.lines("began-later") == ["1"]
    assert "plan: 3 done" in talking.call("run", "plan.toml").err


def test_a_driver_killed_right_after_a_task_was_created_does_it_when_it_goes_on(talking: Talking) -> None:
    talking.plan("[run]\nslots = 1\n", task("a", f"{PRINT_ENV}; {HELD}"))
    driver = talking.start("run", "plan.toml")
    env = talking.attempt_env("a")
    [answer] = talking.call_tools(("create_task", {"description": "Next", "run": "touch next"}), env=env)
    assert answer["task"] == "next"
    send(driver, signal.SIGKILL)
    driver.wait()
    talking.let_go()
    talking.call("resume", "plan")
    assert (talking.root / "next").exists()


def test_while_nobody_drives_the_run_requests_wait_and_the_tool_says_so(talking: Talking) -> None:
    talking.plan(task("a", f"{PRINT_ENV}; {HELD}"))
    driver = talking.start("run", "plan.toml")
    env = talking.attempt_env("a")
    send(driver, signal.SIGKILL)
    driver.wait()
    listed, refused = talking.call_tools(
        ("list_tasks", {}), ("create_task", {"description": "Next", "run": "touch next"}), env=env
    )
    assert listed["found"] == 1
    assert error(refused).startswith("nobody drives the run; request 1 (create) is kept")
    talking.let_go()
    talking.call("resume", "plan")
    assert (talking.root / "next").exists()


def test_a_person_may_create_tasks_without_being_an_attempt(talking: Talking) -> None:
    talking.plan(task("a", HELD))
    driver = talking.start("run", "plan.toml")
    talking.wait_began("a")
    created, cancelled, budget, asked = talking.call_tools(
        ("create_task", {"description": "By hand", "run": "touch by-hand"}),
        ("cancel_task", {"task": "a"}),
        ("get_budget", {}),
        ("ask_human", {"question": "me?"}),
        options=["plan"],
    )
    assert created["task"] == "by-hand"
    assert cancelled["said"] == "tasks cancelled: 1"
    assert "may_create" not in budget
    assert error(asked).startswith("there is no tool 'ask_human'; there are create_task, update_task, list_tasks")
    assert talking.finish(driver).code == 1
    assert talking.state().task("by-hand").phase is TaskPhase.DONE
    assert talking.state().task("by-hand").depth == 0


def test_caps_hold_for_everybody_who_asks_at_once(talking: Talking) -> None:
    calls: list[Call] = [("create_task", {"description": f"number {each}", "run": "true"}) for each in range(4)]
    talking.plan(
        "[run]\nslots = 2\nmcp_fan_out = 3\nmcp_depth = 1\n",
        task("a", f"{PRINT_ENV}; {HELD}"),
        task("b", talking.speaking(*calls, name="b")),
    )
    driver = talking.start("run", "plan.toml")
    env = talking.attempt_env("a")
    answers = talking.call_tools(*calls, env=env)
    assert ["error" in each for each in answers] == [False, False, False, True]
    assert error(answers[-1]) == "task a has created 3 tasks; mcp_fan_out allows 3"
    talking.wait_answers(4, "b")
    talking.let_go()
    assert talking.finish(driver).code == 0
    made = [event for event in talking.events() if isinstance(event, e.TaskCreated)]
    assert Counter(str(each.parent) for each in made) == {"a": 3, "b": 3}
    # Who asked first has the plain name.
    assert {str(each.task.id) for each in made} >= {"number-0", "number-0-2"}
    assert len({str(each.task.id) for each in made}) == 6


def test_what_created_tasks_come_to_is_told_at_the_end(talking: Talking) -> None:
    talking.plan(task("a", talking.speaking(("create_task", {"description": "One", "run": "true"}))))
    said = talking.call("run", "plan.toml")
    assert "outside the determinism promise: 1 created task" in said.err
    story = talking.call("story", "plan", "one").out
    assert "one was created by a: true" in story


def test_progress_is_seen_and_stored_once_a_second(talking: Talking) -> None:
    reports: list[Call] = [
        ("report_progress", {"text": f"step {each} " + "x" * 600, "percent": each}) for each in (10, 20, 30)
    ]
    talking.plan(task("a", f"{talking.speaking(*reports)}; {HELD}"))
    driver = talking.start("run", "plan.toml")
    talking.wait_answers(3)
    assert "30 %, step 30 xxx" in talking.call("status").out
    assert str(talking.status()["running"][0]["progress"]).startswith("30 %, step 30 x")  # type: ignore[index]
    assert "progress  30 %, step 30 xxx" in talking.call("show", "plan", "a").out
    talking.let_go()
    talking.finish(driver)
    kept = [event for event in talking.events() if isinstance(event, e.ProgressReported)]
    assert [each.percent for each in kept] == [10, 20, 30]
    assert {len(each.text) for each in kept} == {500}
    assert not [event for event in talking.events() if isinstance(event, e.RequestTaken)]


def test_a_created_task_of_many_words_is_refused_by_its_schema(talking: Talking) -> None:
    talking.plan(task("a", HELD))
    driver = talking.start("run", "plan.toml")
    talking.wait_began("a")
    answers = talking.call_tools(
        ("create_task", {"description": "x" * 501, "run": "true"}),
        ("create_task", {"description": "x", "run": "true", "wants": 1}),
        ("list_tasks", {"limit": 100_000}),
        ("nothing", {}),
    )
    assert [error(each).partition(";")[0] for each in answers] == [
        "Expected `str` of length <= 500 - at `$.description`",
        "Object contains unknown field `wants`",
        "Expected `int` <= 500 - at `$.limit`",
        "there is no tool 'nothing'",
    ]
    talking.let_go()
    talking.finish(driver)
    wait_for(lambda: talking.driver() is None, what="the driver to leave")
