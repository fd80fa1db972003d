"""What of an agent is on this machine: real programs, some of which behave badly."""

import os
import select
from pathlib import Path

import pytest
from tests.agents.starting import Bench

from budwood.agents.base import Overrides
from budwood.agents.finding import (
    FoundLogin,
    LoginState,
    ask_version,
    billing_of,
    find_login,
    find_program,
    look_for,
    read_version,
)
from budwood.agents.registry import agent_named


def script(directory: Path, name: str, *, text: str, mode: int = 0o755) -> Path:
    directory.mkdir(exist_ok=True)
    path = directory / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(mode)
    return path


def assert_gone(pid: int) -> None:
    """Wait for the end of a process; who inherits it may take a moment to bury it."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        assert select.select([descriptor], [], [], 10)[0]
    finally:
        os.close(descriptor)


@pytest.mark.parametrize("name", ["claude", "codex", "gemini", "opencode", "aider"])
def test_the_versions_that_were_tried_are_recognised(bench: Bench, name: str) -> None:
    agent = agent_named(name)
    seen = look_for(agent, bench.environ(), home=bench.home)
    assert (seen.version, seen.is_tried, seen.problem) == (agent.tried[0], True, "")
    assert seen.program is not None
    assert seen.login == FoundLogin(state=LoginState.NONE)


def test_another_version_is_told_as_not_tried(bench: Bench) -> None:
    other = script(bench.root / "bin", "other", text="echo 'claude 9.9.9-beta.1'")
    agent = agent_named("claude", Overrides(command=(str(other),)))
    seen = look_for(agent, {"PATH": ""}, home=bench.home)
    assert (seen.program, seen.version, seen.is_tried) == (other, "9.9.9-beta.1", False)


def test_the_first_program_on_path_that_may_be_run_is_found(tmp_path: Path) -> None:
    script(tmp_path / "one", "tool", text="", mode=0o644)
    (tmp_path / "two").mkdir()
    (tmp_path / "two" / "tool").mkdir()
    there = script(tmp_path / "three", "tool", text="")
    path = os.pathsep.join(str(tmp_path / each) for each in ("none", "one", "two", "three"))
    assert find_program("tool", path) == there
    assert find_program("tool", str(tmp_path / "one")) is None
    assert find_program("tool", "") is None


def test_what_is_not_there_is_said(bench: Bench) -> None:
    seen = look_for(agent_named("claude"), {"PATH": str(bench.home), "ANTHROPIC_API_KEY": "k"}, home=bench.home)
    assert (seen.program, seen.login) == (None, FoundLogin(state=LoginState.KEY, at="ANTHROPIC_API_KEY"))
    assert seen.problem == "claude is not on PATH, or may not be run"


def test_a_version_on_standard_error_counts(tmp_path: Path) -> None:
    tool = script(tmp_path, "tool", text="echo 'tool v1.2.3' >&2")
    assert ask_version([str(tool)], {}).number == "1.2.3"


def test_a_program_that_hangs_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    tool = script(tmp_path, "tool", text=f"sleep 300 & echo $! > {pid_file}\nwait")
    version = ask_version([str(tool)], {"PATH": os.defpath}, timeout_s=0.3)
    assert version.problem == f"{tool} did not tell its version within 0.3 s"
    assert_gone(int(pid_file.read_text()))


def test_a_child_that_keeps_the_output_open_is_not_waited_for(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    tool = script(tmp_path, "tool", text=f"sleep 300 & echo $! > {pid_file}\necho 1.2.3")
    assert ask_version([str(tool)], {"PATH": os.defpath}, timeout_s=20).number == "1.2.3"
    assert_gone(int(pid_file.read_text()))


def test_a_program_that_never_stops_talking_is_cut_short(tmp_path: Path) -> None:
    tool = script(tmp_path, "tool", text="while :; do echo no version here; done")
    assert "tells no version" in ask_version([str(tool)], {}, timeout_s=20).problem


def test_a_program_that_reads_gets_nothing_to_read(tmp_path: Path) -> None:
    tool = script(tmp_path, "tool", text="read line; echo 4.5.6")
    assert ask_version([str(tool)], {}, timeout_s=20).number == "4.5.6"


def test_a_program_that_fails_tells_no_version(tmp_path: Path) -> None:
    tool = script(tmp_path, "tool", text="echo 'Error: Cannot find module'; echo 'Node.js v20.1.0'; exit 1")
    version = ask_version([str(tool)], {})
    assert version.number is None
    assert version.problem == f"{tool} tells no version, exit code 1: Error: Cannot find module Node.js v20.1.0"


def test_a_file_that_is_no_program_cannot_be_started(tmp_path: Path) -> None:
    tool = tmp_path / "tool"
    tool.write_bytes(b"\x7fELF no")
    tool.chmod(0o755)
    assert "cannot be started" in ask_version([str(tool)], {}).problem
    assert "cannot be started" in ask_version([str(tmp_path / "absent")], {}).problem


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("2.1.197 (Claude Code)", "2.1.197"),
        ("codex-cli 0.166.0\n", "0.166.0"),
        ("(node:12) [DEP0040] DeprecationWarning since 21.0.0, use another\n0.61.0\n", "0.61.0"),
        ("\x1b[1maider\x1b[0m v0.86.2", "0.86.2"),
        ("version 3", None),
        ("", None),
    ],
)
def test_a_version_is_picked_out_of_what_is_printed(text: str, number: str | None) -> None:
    assert read_version(text) == number


def test_a_key_counts_before_a_subscription(bench: Bench) -> None:
    agent = agent_named("codex")
    file = bench.home / ".codex/auth.json"
    assert find_login(agent, {}, home=bench.home).state is LoginState.NONE
    file.parent.mkdir()
    file.write_text("")
    assert find_login(agent, {"OPENAI_API_KEY": " "}, home=bench.home).state is LoginState.NONE
    file.write_text("{}")
    assert find_login(agent, {}, home=bench.home) == FoundLogin(state=LoginState.SUBSCRIPTION, at=str(file))
    found = find_login(agent, {"OPENAI_API_KEY": "k"}, home=bench.home)
    assert found == FoundLogin(state=LoginState.KEY, at="OPENAI_API_KEY")


def test_a_variable_may_name_another_directory_for_logins(bench: Bench) -> None:
    agent = agent_named("claude")
    (bench.root / "elsewhere").mkdir()
    (bench.root / "elsewhere/.credentials.json").write_text("{}")
    environ = {"CLAUDE_CONFIG_DIR": str(bench.root / "elsewhere")}
    assert find_login(agent, environ, home=bench.home).state is LoginState.SUBSCRIPTION
    assert find_login(agent, {}, home=bench.home).state is LoginState.NONE


def test_a_state_of_its_own_has_no_login_in_it(bench: Bench) -> None:
    (bench.home / ".codex").mkdir()
    (bench.home / ".codex/auth.json").write_text("{}")
    agent = agent_named("codex", Overrides(own_state=True))
    assert find_login(agent, {}, home=bench.home).state is LoginState.NONE
    assert find_login(agent, {"CODEX_API_KEY": "k"}, home=bench.home).state is LoginState.KEY


def test_what_nobody_knows_a_login_of_is_not_said_to_have_none(bench: Bench) -> None:
    agent = agent_named("command", Overrides(command=("true",)))
    assert find_login(agent, {}, home=bench.home).state is LoginState.UNKNOWN


def test_a_program_of_the_users_is_looked_for_and_not_started(bench: Bench) -> None:
    mine = script(bench.root / "bin", "mine", text=f"touch {bench.root}/worked; echo 1.2.3")
    agent = agent_named("command", Overrides(command=("mine", "{prompt_file}")))
    seen = look_for(agent, {"PATH": str(mine.parent)}, home=bench.home)
    assert (seen.program, seen.version, seen.problem) == (mine, None, "")
    assert not (bench.root / "worked").exists()


def test_only_a_subscription_that_lets_it_in_is_no_money() -> None:
    file, key = FoundLogin(state=LoginState.SUBSCRIPTION), FoundLogin(state=LoginState.KEY)
    assert [billing_of(None, each) for each in (file, key)] == ["subscription", "metered"]
    assert [billing_of(given, file) for given in ("metered", "subscription")] == ["metered", "subscription"]
    assert billing_of(None, FoundLogin(state=LoginState.NONE)) == "metered"
