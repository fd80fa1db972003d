"""Clients that lie, flood, send too much or go away: they are told, and the run goes on."""

import json
import subprocess
import time
from pathlib import Path

import anyio
import pytest
from mcp import MCPError
from tests.cli.world import HELD, Budwood, task, wait_for
from tests.mcp.clients import SERVER, Answer, connected, told
from tests.mcp.talking import PRINT_ENV, Talking, error
from tests.support.cases import at_length

from budwood.project import bench

pytestmark = pytest.mark.slow
NEXT: dict[str, object] = {"description": "Next", "run": "touch next"}


def held(talking: Talking) -> dict[str, str]:
    """Start a run, and return what its attempt has."""
    talking.plan(task("a", f"{PRINT_ENV}; {HELD}"), task("b", f"{PRINT_ENV}; {HELD}"))
    talking.start("run", "plan.toml")
    return talking.attempt_env("a")


def refused(talking: Talking, env: dict[str, str], *words: str) -> str:
    """Start a server that must not serve; return what it says."""
    done = subprocess.run(
        [*SERVER, *words],
        env=env,
        cwd=talking.root,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2, done
    assert done.stdout == ""
    return done.stderr


def test_a_token_that_was_not_given_out_is_refused(talking: Talking) -> None:
    env = held(talking)
    run, work, proof = env["BUDWOOD_TOKEN"].split(":")
    other = talking.attempt_env("b")["BUDWOOD_TOKEN"]
    lies = (f"{run}:1.1:{proof}", f"{run}:{work}:{'0' * 64}", f"other:{work}:{proof}", f"{run}:{work}", "", "::", "ü")
    for lie in lies:
        assert "BUDWOOD_TOKEN is none that run" in refused(talking, env | {"BUDWOOD_TOKEN": lie})
    assert "leads to no run" in refused(talking, env | {"BUDWOOD_ACCESS": "/nowhere"})
    without = {name: value for name, value in env.items() if name != "BUDWOOD_TOKEN"}
    assert "it has no BUDWOOD_TOKEN" in refused(talking, without)
    assert other.split(":")[1] == "1.1"
    assert talking.call_tools(("get_context", {}), env=env | {"BUDWOOD_TASK": "b"})[0]["task"]["task"] == "a"  # type: ignore[index]
    mode = (talking.root / ".budwood" / "runs" / run / "access.json").stat().st_mode
    assert mode & 0o777 == 0o600


def test_an_attempt_gets_no_other_run_and_no_other_way_in(talking: Talking) -> None:
    env = held(talking)
    talking.plan(task("x"), file="other.toml")
    talking.call("run", "other.toml")
    assert "a token for its own run, not for other" in refused(talking, env, "other")
    assert "leave --store out" in refused(talking, env, "--store", "x.db")
    assert "leave --http out" in refused(talking, env, "--http", "0")


def test_a_token_ends_with_its_attempt(talking: Talking) -> None:
    env = held(talking)

    async def talk() -> list[Answer]:
        async with connected(SERVER, env=env) as client:
            before = told(await client.call_tool("list_tasks", {}))
            talking.let_go()
            await anyio.to_thread.run_sync(
                lambda: wait_for(lambda: talking.runs()[0].phase.value == "finished", what="the end")
            )
            return [
                before,
                told(await client.call_tool("list_tasks", {})),
                told(await client.call_tool("create_task", NEXT)),
            ]

    before, after, created = anyio.run(talk)
    assert before["found"] == 2
    assert error(after) == error(created) == "attempt 1 has ended, and its token with it"


def test_one_that_floods_is_slowed_down_and_the_driver_goes_on(talking: Talking) -> None:
    env = held(talking)

    async def talk() -> list[Answer]:
        found: list[Answer] = []
        async with connected(SERVER, env=env) as client:

            async def one(number: int) -> None:
                name, given = ("list_tasks", {}) if number % 2 else ("create_task", NEXT)
                found.append(told(await client.call_tool(name, given)))

            async with anyio.create_task_group() as group:
                for number in range(400):
                    group.start_soon(one, number)
        return found

    answers = anyio.run(talk)
    slowed = [answer for answer in answers if "too many calls" in str(answer.get("error"))]
    assert len(answers) == 400
    assert 300 <= len(slowed) <= 365
    began_s = time.monotonic()
    assert talking.call_tools(("list_tasks", {}), env=env)[0]["found"] == 3
    assert time.monotonic() - began_s < 20
    talking.let_go()
    wait_for(lambda: talking.runs()[0].phase.value == "finished", what="the end")
    assert len(talking.events()) < 150


def test_a_message_that_is_too_long_is_refused_and_the_next_one_is_heard(talking: Talking) -> None:
    env = held(talking)

    async def talk() -> Answer:
        async with connected(SERVER, env=env) as client:
            for size in (1_100_000, 10_000_000):
                with pytest.raises(MCPError, match="bytes was not read; at most 1000000 are"):
                    await client.call_tool("create_task", {"description": "x" * size})
            return told(await client.call_tool("list_tasks", {}))

    assert anyio.run(talk)["found"] == 2


def serving(talking: Talking, env: dict[str, str]) -> "subprocess.Popen[bytes]":
    return subprocess.Popen([*SERVER], env=env, cwd=talking.root, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def test_nonsense_is_answered_or_passed_over(talking: Talking) -> None:
    env = held(talking)
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    lines = (
        b"\xff\xfe not json\n",
        b"[]\n",
        b'{"jsonrpc":"2.0"}\n',
        b"\n",
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}).encode() + b"\n",
        b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n',
        b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"list_tasks","arguments":[]}}\n',
        b'{"jsonrpc":"2.0","id":3,"method":"nothing/at-all"}\n',
        b'{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"list_tasks"}}\n',
    )
    process = serving(talking, env)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b"".join(lines))
    process.stdin.flush()
    answers: dict[object, dict[str, object]] = {}
    while 4 not in answers:
        line = process.stdout.readline()
        assert line, "the server went away"
        answer = json.loads(line)
        answers[answer.get("id")] = answer
    process.stdin.close()
    assert process.wait(30) == 0
    process.stdout.close()
    assert "error" in answers[2]
    assert "error" in answers[3]
    assert '"found": 2' in json.dumps(answers[4])


@pytest.mark.parametrize("how", ["is killed", *at_length("closes")])
def test_one_that_goes_away_in_the_middle_harms_nobody(talking: Talking, how: str) -> None:
    env = held(talking)
    process = serving(talking, env)
    assert process.stdin is not None
    assert process.stdout is not None
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    asked = {"name": "ask_human", "arguments": {"question": "Still there?"}}
    for number, (method, params) in enumerate((("initialize", hello), ("tools/call", asked))):
        process.stdin.write(
            json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode() + b"\n"
        )
    process.stdin.flush()
    wait_for(lambda: "needs_input" in json.dumps(talking.status()), what="the question")
    if how == "closes":
        process.stdout.close()
        process.stdin.close()
    else:
        process.kill()
    assert process.wait(30) == (0 if how == "closes" else -9)
    process.stdin.close()
    process.stdout.close()
    [again] = talking.call_tools(("ask_human", {}), env=env, options=["--wait", "1s"])
    assert again["answered"] is False
    talking.call("answer", "plan", "a", "yes")
    [heard] = talking.call_tools(("ask_human", {}), env=env, options=["--wait", "1s"])
    assert heard["answer"] == "yes"
    talking.let_go()
    wait_for(lambda: talking.runs()[0].phase.value == "finished", what="the end")


def test_outside_an_attempt_a_run_that_is_none_is_named(talking: Budwood) -> None:
    talking.plan(task("a"))
    talking.call("run", "plan.toml")
    assert "did you mean plan?" in talking.call("mcp", "plam", code=2).err
    assert "--wait is 'soon'" in talking.call("mcp", "--wait", "soon", code=2).err


def test_a_package_of_our_name_in_the_directory_of_an_attempt_is_not_taken_for_ours(tmp_path: Path) -> None:
    (tmp_path / "budwood").mkdir()
    (tmp_path / "budwood" / "__init__.py").write_text("raise SystemExit('taken')\n")
    said = subprocess.run(
        [*bench.SERVER, "--help"], cwd=tmp_path, capture_output=True, text=True, timeout=30, check=False
    )
    assert (said.returncode, said.stderr) == (0, "")
    assert "Serve the tools" in said.stdout
