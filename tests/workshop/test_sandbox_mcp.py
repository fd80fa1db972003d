"""The tools of a run in the hands of agents in a sandbox: all of them work, and nothing else comes through the door."""

import json
import os
import shlex
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.agents.starting import FAKES
from tests.cli.world import wait_for
from tests.mcp import clients
from tests.mcp.clients import Answer, Call
from tests.support.cases import at_length
from tests.workshop.kept_in import KEY, MADE, box, command, end, kept_in, sh
from tests.workshop.site import Site, do, steps, task
from tests.workshop.test_agents import asking

from budwood._core.events import QuestionAsked, TaskCreated
from budwood._core.model import AttemptPhase
from budwood.mcp.tools import TOOLS
from budwood.project.bench import SERVER
from budwood.sandbox.door import PLACE, RELAY

__all__ = ["box"]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
NAMES = ("claude", "codex", "gemini", "opencode")
FURTHER = {"description": "Further work", "run": "echo further > further.txt"}


class Hall:
    """A directory that is seen from both sides, for files by which tests and attempts wait for each other."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir()

    def calls(self, *calls: Call, words: Sequence[str] = RELAY, name: str = "talk") -> str:
        """Write the command of an attempt that makes these calls with the official client."""
        (self.root / f"{name}.calls").write_text(json.dumps(calls))
        files = [str(self.root / f"{name}.{kind}") for kind in ("calls", "answers")]
        return shlex.join([sys.executable, clients.__file__, *files, "--", *words])

    def answers(self, name: str = "talk") -> list[Answer]:
        """Read what came back so far."""
        path = self.root / f"{name}.answers"
        found: list[Answer] = json.loads(path.read_text()) if path.exists() else []
        return found


@pytest.fixture
def hall(box: Site) -> Hall:
    """Give a directory that attempts may write to."""
    return Hall(box.root.parent / "hall")


def with_tools(site: Site, hall: Hall, *tables: str, **keys: object) -> None:
    """Write a plan whose attempts are in a sandbox and have tools."""
    kept_in(
        site,
        *tables,
        **{
            "mcp": True,
            "network": "none",
            "sandbox_read": [str(Path(clients.__file__).parent)],
            "sandbox_write": [str(hall.root)],
            **keys,
        },
    )


def talk(name: str, run: str, **keys: object) -> str:
    """Write a task whose agent makes something and gives a command that must succeed."""
    return task(name, (MADE, do("run", command=run)), **keys)


def alone(code: str) -> str:
    """Write the command of a program that needs nothing; `come` makes a connection to the door."""
    come = (
        f"import os, socket, time\ndef come():\n  s = socket.socket(socket.AF_UNIX); s.connect({PLACE!r}); return s\n"
    )
    return shlex.join([sys.executable, "-IS", "-c", come + code])


def speak(method: str) -> str:
    """Write the command of a client that says one thing and prints the answer."""
    params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}) + "\n"
    return alone(f"s = come(); s.sendall({line.encode()!r}); print(s.makefile().readline())")


def created(site: Site) -> list[TaskCreated]:
    """List what attempts created."""
    return [event for event in site.events() if isinstance(event, TaskCreated)]


def servers(site: Site) -> list[int]:
    """List the servers of this site's attempts, which have the path of its files in their environment."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            is_ours = f"={site.root}/".encode() in (folder / "environ").read_bytes()
            words = os.fsdecode((folder / "cmdline").read_bytes()).split("\0")
            if is_ours and tuple(words[: len(SERVER)]) == SERVER:
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def wait_asked(site: Site) -> None:
    """Wait until an attempt has asked something."""
    wait_for(lambda: servers(site), what="a server", within_s=site.within_s)
    wait_for(lambda: any(isinstance(each, QuestionAsked) for each in site.events()), what="a question")


# --- what works ---


@pytest.mark.parametrize("network", ["none", *at_length(["example.org"], "all")], ids=["none", "hosts", "all"])
def test_four_agents_find_the_server_as_they_are_told_of_it_and_create_tasks(
    box: Site, hall: Hall, network: object
) -> None:
    programs = box.root.parent / "programs"
    programs.mkdir()
    (programs / "python3").write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n')
    (programs / "python3").chmod(0o755)
    box.env["PATH"] = f"{FAKES}:{programs}:{box.env['PATH']}"
    with_tools(box, hall, *(asking(name, "behave: mcp", agent=name) for name in NAMES), network=network)
    said = box.call("run", "plan.toml")
    assert "asking things of their run (mcp)" in said.err
    for name in NAMES:
        left = end(box, name).left
        assert left is not None
        told = json.loads(box.git("show", f"{left.candidate}:tools.txt"))
        assert (told["tools"], told["task"]) == (list(TOOLS), name)
    assert {each.parent for each in created(box)} == set(NAMES)
    assert box.state().counts["done"] == 8  # type: ignore[index]
    assert "further.txt" in box.candidate(box.end_of(str(created(box)[0].task.id)))


def test_every_tool_works_from_inside_and_a_person_answers(box: Site, hall: Hall) -> None:
    calls: tuple[Call, ...] = (
        ("get_context", {}),
        ("create_task", FURTHER),
        ("create_task", {"description": "Never", "run": "true", "depends_on": ["further-work"]}),
        ("update_task", {"task": "never", "priority": 7}),
        ("cancel_task", {"task": "never"}),
        ("cancel_task", {"task": "b"}),
        ("list_tasks", {}),
        ("get_budget", {}),
        ("report_progress", {"text": "half of it", "percent": 50}),
        ("ask_human", {"question": "Which colour?"}),
    )
    with_tools(box, hall, talk("a", hall.calls(*calls)), sh("b", "true", after=["a"]))
    driver = box.start("run", "plan.toml")
    wait_asked(box)
    status = json.loads(box.call("status", "plan", "--json").out)
    [running] = [each for each in status["running"] if each["task"] == "a"]  # what it created may run as well
    assert (running["state"], running["question"]) == ("needs_input", "Which colour?")
    assert running["progress"] == "50 %, half of it"
    box.call("answer", "plan", "a", "Blue.")
    assert box.finish(driver).code == 1  # what was cancelled was wanted
    end(box)
    context, made, never, updated, gone, foreign, listed, budget, progress, answer = hall.answers()
    assert context["task"]["task"] == "a"  # type: ignore[index]
    assert (made["task"], never["task"]) == ("further-work", "never")
    assert (updated["said"], gone["said"]) == ("updated never", "tasks cancelled: 1")
    assert foreign["error"] == "task b was not created by task a, which may not touch it"
    assert [each["task"] for each in listed["tasks"]] == ["a", "b", "further-work", "never"]  # type: ignore[attr-defined]
    assert "budget" in budget
    assert "error" not in progress
    assert answer["answer"] == "Blue."


@pytest.mark.parametrize("contain", ["namespace", *at_length("tree")])
def test_a_program_of_ones_own_starts_budwood_mcp_as_without_a_sandbox(box: Site, hall: Hall, contain: str) -> None:
    own = (sys.executable, "-m", "budwood", "mcp")
    calls = hall.calls(("create_task", FURTHER), words=own)
    with_tools(box, hall, command("a", calls), workspace="clone", contain=contain)
    box.call("run", "plan.toml")
    assert box.end_of("a").measure.ended_processes == 0
    assert hall.answers()[0]["task"] == "further-work"
    assert box.end_of("further-work").phase is AttemptPhase.SUCCEEDED


def test_options_of_a_server_that_is_outside_already_are_refused(box: Site, hall: Hall) -> None:
    own = shlex.join([sys.executable, "-m", "budwood", "mcp"])
    with_tools(box, hall, sh("a", f"{own} --wait 5s; {own} --http 0; {own} other; {own} --store /x.db"))
    box.call("run", "plan.toml")
    assert box.log_of("a").count("in a sandbox the server is outside, for the attempt alone") == 4


def test_a_reviewer_has_the_tools_too(box: Site, hall: Hall) -> None:
    asks = do("run", command=hall.calls(("get_context", {})))
    reviews = steps(asks, do("run", command='echo accept > "$BUDWOOD_VERDICT"'))
    with_tools(box, hall, task("a", (MADE,)), reviewer={"agent": "script", "prompt": reviews})
    box.call("run", "plan.toml")
    end(box)
    assert hall.answers()[0]["task"]["task"] == "a"  # type: ignore[index]


# --- what does not come through ---


def test_neither_the_token_nor_the_store_nor_another_door_is_there(box: Site, hall: Hall) -> None:
    runs = box.root / ".budwood" / "runs"
    look = (
        "env; cat /proc/*/environ | tr '\\0' '\\n'; cat /proc/*/cmdline | tr '\\0' '\\n'",
        f"cat '{box.root}/.budwood/store.db' && echo STORE",
        f"cat '{runs}'/*/access.json && echo OPENED",
        # `find -type` believes the directory, in which a mount upon a file is that file.
        "find / \\( -path /proc -o -path /usr -o -path /sys \\) -prune -o -exec stat -c '%F %n' {} + | grep ^socket",
        f"ls -la /tmp/budwood-{os.geteuid()} && echo RUNTIME",
        f"rm -f {PLACE}; mv {PLACE} /tmp/x; ln -sf /tmp/x {PLACE}; test -S {PLACE} && echo KEPT",
    )
    with_tools(box, hall, sh("a", "; ".join(look)), sh("b", "; ".join(look)))
    box.call("run", "plan.toml")
    [access] = runs.glob("*/access.json")
    secret = json.loads(access.read_text())["secret"]
    for name in ("a", "b"):
        end(box, name)
        log = box.log_of(name)
        assert f"BUDWOOD_DOOR={PLACE}" in log
        assert [line for line in log.splitlines() if line.startswith("socket")] == [f"socket {PLACE}"]
        assert "KEPT" in log.splitlines()
        for word in ("BUDWOOD_TOKEN=", "BUDWOOD_ACCESS=", secret, KEY):
            assert word not in log, word
        assert not {"STORE", "OPENED", "RUNTIME"} & set(log.splitlines())


def test_without_mcp_there_is_no_door_and_no_token_either(box: Site) -> None:
    kept_in(box, sh("a", f"cat /proc/*/environ | tr '\\0' '\\n'; {shlex.join(RELAY)} < /dev/null"))
    box.call("run", "plan.toml")
    log = box.log_of("a")
    assert f"relay: {PLACE}: No such file or directory" in log
    assert not [
        line for line in log.splitlines() if line.startswith(("BUDWOOD_TOKEN", "BUDWOOD_ACCESS", "BUDWOOD_DOOR"))
    ]


def test_nothing_that_an_attempt_lays_or_sets_is_run_outside(box: Site, hall: Hall) -> None:
    evil = f"import os; 'BUDWOOD_DOOR' in os.environ or open('{hall.root}/evil', 'w')"
    site = f"lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"
    lay = (
        f"mkdir -p budwood mcp '{hall.root}/.local/{site}'",
        f"for each in budwood/__init__ mcp/__init__ sitecustomize; do echo {shlex.quote(evil)} > $each.py; done",
        f"cp sitecustomize.py '{hall.root}'; cp sitecustomize.py '{hall.root}/.local/{site}/usercustomize.py'",
        'export PYTHONPATH="$BUDWOOD_WORKSPACE" BUDWOOD_TOKEN=x:1.1:y BUDWOOD_ACCESS=/x',
        speak("initialize"),
    )
    given = {"PYTHONPATH": str(hall.root), "HOME": str(hall.root), "LD_LIBRARY_PATH": str(hall.root)}
    with_tools(box, hall, talk("a", "; ".join(lay), env=given))
    box.call("run", "plan.toml")
    end(box)
    assert '"serverInfo":{"name":"budwood"' in box.log_of("a")
    assert not (hall.root / "evil").exists()


def test_one_connection_too_many_is_refused_and_told_of(box: Site, hall: Hall) -> None:
    code = "made = [come() for _ in range(9)]; made[8].settimeout(60); print('refused', made[8].recv(1))"
    with_tools(box, hall, sh("a", alone(code)))
    box.call("run", "plan.toml")
    assert "refused b''" in box.log_of("a")
    assert "[budwood: the door of the sandbox let nobody in: 8 were there already]" in box.log_of("a")
    assert end(box).measure.ended_processes == 0


# --- when something ends ---


def test_with_the_step_every_server_ends_and_is_not_taken_for_left_running(box: Site, hall: Hall) -> None:
    # One that is spoken with, and one that never is; both are held by a program that the step leaves behind.
    code = f"made = come(), come(); os.fork() and os._exit(0); open('{hall.root}/there', 'w'); time.sleep(60)"
    leave = f"{alone(code)}; until [ -e '{hall.root}/there' ]; do sleep 0.02; done"
    wait = f"until [ -e '{hall.root}/go' ]; do sleep 0.02; done"
    with_tools(box, hall, talk("a", f"{leave}; {wait}"))
    driver = box.start("run", "plan.toml")
    wait_for(lambda: len(servers(box)) == 2, what="servers")
    (hall.root / "go").touch()
    assert box.finish(driver).code == 0
    assert end(box).measure.ended_processes == 2  # what it left, and the init of its sandbox
    assert servers(box) == []


def test_a_server_that_is_killed_is_an_exit_code_for_its_client_and_the_next_one_serves(box: Site, hall: Hall) -> None:
    relay = shlex.join(RELAY)
    held = (
        f"mkfifo held; (sleep 60 & echo $! > sleeps; wait) > held & {relay} < held; echo ended $?; kill $(cat sleeps)"
    )
    with_tools(box, hall, sh("a", f"{held}; {speak('initialize')}"))
    driver = box.start("run", "plan.toml")
    wait_for(lambda: servers(box), what="a server")
    os.kill(servers(box)[0], signal.SIGKILL)
    assert box.finish(driver).code == 0
    log = box.log_of("a")
    assert "ended 1" in log
    assert "budwood-supervisor relay: the server has ended" in log
    assert '"serverInfo":{"name":"budwood"' in log


def test_a_server_that_cannot_serve_is_told_of_in_the_log(box: Site, hall: Hall) -> None:
    wait = f"until [ -e '{hall.root}/go' ]; do sleep 0.02; done"
    with_tools(box, hall, sh("a", f"touch '{hall.root}/began'; {wait}; {shlex.join(RELAY)} < /dev/null; echo ended $?"))
    driver = box.start("run", "plan.toml")
    wait_for((hall.root / "began").exists, what="it to begin")
    [access] = (box.root / ".budwood" / "runs").glob("*/access.json")
    access.rename(access.with_suffix(".away"))
    (hall.root / "go").touch()
    assert box.finish(driver).code == 0
    assert "[budwood: a server at the door of the sandbox ended: exit status: 2: error: BUDWOOD_TOKEN is set, and" in (
        box.log_of("a")
    )


def test_who_waits_for_a_person_goes_on_waiting_when_the_driver_is_killed(box: Site, hall: Hall) -> None:
    calls = hall.calls(("ask_human", {"question": "Which colour?"}), ("create_task", FURTHER))
    with_tools(box, hall, talk("a", calls))
    driver = box.start("run", "plan.toml")
    wait_asked(box)
    [before] = servers(box)
    driver.kill()
    driver.communicate()
    again = box.start("resume", "plan")
    wait_for(lambda: box.driver() is not None, what="another driver")
    assert servers(box) == [before]
    box.call("answer", "plan", "a", "Blue.")
    assert box.finish(again).code == 0
    assert [each.get("answer", each.get("task")) for each in hall.answers()] == ["Blue.", "further-work"]
    assert end(box).attempt == 1


def test_a_killed_supervisor_leaves_no_server(box: Site, hall: Hall) -> None:
    wait = f"[ -e '{hall.root}/go' ] || {hall.calls(('ask_human', {'question': 'Which colour?'}))}"
    with_tools(box, hall, talk("a", wait, retries=0), backoff="10ms")
    driver = box.start("run", "plan.toml")
    wait_asked(box)
    [before] = servers(box)
    (hall.root / "go").touch()
    [info] = (box.root / ".budwood" / "runs").glob("*/slots/0/info.json")
    os.kill(json.loads(info.read_text())["pid"], signal.SIGKILL)
    assert box.finish(driver).code == 0
    assert [each.phase for each in box.ends()] == [AttemptPhase.ABANDONED, AttemptPhase.SUCCEEDED]
    assert before not in servers(box)


def test_a_time_limit_ends_the_server_with_the_rest(box: Site, hall: Hall) -> None:
    with_tools(box, hall, talk("a", alone("s = come(); time.sleep(60)"), timeout="2s"), grace="200ms")
    box.call("run", "plan.toml", code=1)
    assert box.end_of("a").phase is AttemptPhase.TIMED_OUT
    assert servers(box) == []
    assert "a server at the door" not in box.log_of("a")
