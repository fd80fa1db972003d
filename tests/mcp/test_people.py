"""Questions of attempts: seen everywhere, answered by a person, neither lost with a driver nor waited for too long."""

import signal

import anyio
import pytest
from tests.cli.world import HELD, send, task, wait_for
from tests.mcp.clients import SERVER, Answer, Call, connected, told
from tests.mcp.talking import PRINT_ENV, Talking, error

from budwood._core import events as e

pytestmark = pytest.mark.slow
QUESTION: dict[str, object] = {"question": "Which colour?"}
ASKED: Call = ("ask_human", QUESTION)


def wait_asked(talking: Talking) -> None:
    wait_for(lambda: any(isinstance(event, e.QuestionAsked) for event in talking.events()), what="a question")


def test_a_question_is_seen_everywhere_and_its_answer_reaches_the_attempt(talking: Talking) -> None:
    talking.plan(task("a", f"{PRINT_ENV}; {talking.speaking(ASKED, ('list_tasks', {}))}"), task("b", HELD))
    driver = talking.start("run", "plan.toml")
    talking.attempt_env("a")
    wait_asked(talking)
    status = talking.status()
    running = {each["task"]: each for each in status["running"]}  # type: ignore[attr-defined]
    assert (running["a"]["state"], running["a"]["question"]) == ("needs_input", "Which colour?")
    assert status["next"] == "budwood answer plan a TEXT"
    assert "needs input" in talking.call("status").out
    assert "asks      Which colour?" in talking.call("show", "plan", "a").out
    assert "plan: a asks: Which colour?; budwood answer plan a TEXT" in talking.call().out
    assert "waits for an answer: Which colour?" in talking.call("why", "plan", "a").out
    assert "task b asks nothing" in talking.call("answer", "plan", "b", "x", code=2).err
    assert talking.call("answer", "plan", "a", "Blue.").err == "plan: answered a\n"
    talking.wait_answers(2)
    assert talking.answers()[0] == {"answered": True, "answer": "Blue.", "question": "Which colour?"}
    talking.let_go()
    said = talking.finish(driver)
    assert said.code == 0
    assert "asks  a  Which colour?  budwood answer plan a TEXT" in said.err
    assert "outside the determinism promise: 1 answer" in said.err


def test_an_answer_given_while_nobody_drives_reaches_the_attempt_at_once(talking: Talking) -> None:
    talking.plan(task("a", f"{PRINT_ENV}; {talking.speaking(ASKED)}"))
    driver = talking.start("run", "plan.toml")
    talking.attempt_env("a")
    wait_asked(talking)
    send(driver, signal.SIGKILL)
    driver.wait()
    assert "plan: a asks: Which colour?" in talking.call().out
    talking.call("answer", "plan", "a", "Blue.")
    talking.wait_answers(1)
    assert talking.answers()[0]["answer"] == "Blue."
    assert "plan: 1 done" in talking.call("resume", "plan").err


def test_a_question_asked_while_nobody_drives_is_put_when_somebody_does(talking: Talking) -> None:
    talking.plan(task("a", f"{PRINT_ENV}; {HELD}"))
    driver = talking.start("run", "plan.toml")
    env = talking.attempt_env("a")
    send(driver, signal.SIGKILL)
    driver.wait()

    async def talk() -> Answer:
        async with connected((*SERVER, "--wait", "60s"), env=env) as client:
            return told(await client.call_tool("ask_human", QUESTION))

    async def both() -> Answer:
        found: list[Answer] = []

        async def ask() -> None:
            found.append(await talk())

        async with anyio.create_task_group() as group:
            group.start_soon(ask)
            while not await anyio.to_thread.run_sync(lambda: _asked(talking)):
                await anyio.sleep(0.1)
            talking.start("resume", "plan")
            await anyio.to_thread.run_sync(lambda: wait_asked(talking))
            await anyio.to_thread.run_sync(lambda: talking.call("answer", "plan", "a", "Blue."))
        return found[0]

    assert anyio.run(both)["answer"] == "Blue."


def _asked(talking: Talking) -> bool:
    from budwood.stores import open_store

    with open_store(talking.root / ".budwood" / "store.db", create=False) as store:
        return bool(store.pending(store.runs()[0].id))


def test_one_that_nobody_answers_is_told_so_and_can_go_on_waiting(talking: Talking) -> None:
    calls: tuple[Call, ...] = (ASKED, ("ask_human", {"question": "Another?"}), ("ask_human", {}), ("list_tasks", {}))
    talking.plan(task("a", talking.speaking(*calls, options=["--wait", "1s"])))
    driver = talking.start("run", "plan.toml")
    talking.wait_answers(2)
    first, other = talking.answers()[:2]
    assert first["answered"] is False
    assert "nobody has answered yet" in str(first["said"])
    assert error(other) == "question 1 has no answer yet: Which colour?"
    assert talking.finish(driver).code == 0


def test_an_attempt_near_its_time_limit_is_told_before_it_is_ended(talking: Talking) -> None:
    talking.plan(task("a", talking.speaking(ASKED, options=["--wait", "1h"]), timeout="25s"))
    talking.call("run", "plan.toml")
    assert talking.answers()[0]["answered"] is False


def test_whoever_waits_hears_that_it_goes_on(talking: Talking) -> None:
    talking.plan(task("a", f"{PRINT_ENV}; {HELD}"))
    driver = talking.start("run", "plan.toml")
    env = talking.attempt_env("a")
    heard: list[str | None] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append(message)

    async def talk() -> Answer:
        async with connected((*SERVER, "--wait", "7s"), env=env) as client:
            return told(await client.call_tool("ask_human", QUESTION, progress_callback=hear))

    assert anyio.run(talk)["answered"] is False
    assert heard == ["waiting for a person's answer"]
    talking.let_go()
    assert talking.finish(driver).code == 0
