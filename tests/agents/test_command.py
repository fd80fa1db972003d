"""Any program as an agent: how the prompt reaches it, and what its end means."""

import sys
from pathlib import Path

import pytest
from tests.agents.starting import BERLIN, NOW_MS, Bench

from budwood.agents.base import Agent, OutcomeKind, Overrides
from budwood.agents.registry import agent_named
from budwood.errors import InternalError, UsageError

SHOW = "import os, sys; print(sys.argv[1:], repr(sys.stdin.read()), os.environ['BUDWOOD_PROMPT_FILE'])"


def command(*words: str, code: str = SHOW) -> Agent:
    return agent_named("command", Overrides(command=(sys.executable, "-Sc", code), args=words))


def shown(bench: Bench, agent: Agent, prompt: str = "Do {prompt_file}.") -> str:
    return bench.start(agent.launch(bench.assignment(prompt))).stdout.decode().strip()


def test_without_a_placeholder_the_prompt_comes_on_standard_input(bench: Bench) -> None:
    assert shown(bench, command("-x")) == f"['-x'] 'Do {{prompt_file}}.' {bench.prompt_file}"


def test_a_path_stands_where_its_placeholder_stood(bench: Bench) -> None:
    expected = f"['--file={bench.prompt_file}', '{{else}}'] '' {bench.prompt_file}"
    assert shown(bench, command("--file={prompt_file}", "{else}")) == expected


def test_a_prompt_in_an_argument_is_not_filled_in_again(bench: Bench) -> None:
    expected = f"['Do {{prompt_file}}.', '{bench.state}'] '' {bench.prompt_file}"
    assert shown(bench, command("{prompt}", "{state_dir}")) == expected


@pytest.mark.parametrize(("size", "fits"), [(131_071, True), (131_072, False)])
def test_an_argument_that_the_kernel_would_refuse_is_refused_with_a_hint(bench: Bench, size: int, fits: bool) -> None:
    agent = agent_named("command", Overrides(command=(sys.executable, "-Sc", "pass", "{prompt}")))
    given = bench.assignment("ä" * (size // 2) + "x" * (size % 2))
    if fits:
        assert bench.start(agent.launch(given)).returncode == 0
        return
    with pytest.raises(UsageError, match="it has 131072 bytes, and one word may have 131071") as raised:
        agent.launch(given)
    assert raised.value.hint is not None
    assert "{prompt_file}" in raised.value.hint


def test_a_zero_byte_fits_into_no_argument(bench: Bench) -> None:
    with pytest.raises(UsageError, match="it holds a zero byte"):
        command("{prompt}").launch(bench.assignment("a\0b"))


def test_a_prompt_that_nobody_gave_is_our_fault(bench: Bench) -> None:
    given = bench.assignment()
    fields = {name: getattr(given, name) for name in given.__struct_fields__}
    with pytest.raises(InternalError, match="text of the prompt"):
        command("{prompt}").launch(type(given)(**{**fields, "prompt": None}))


def test_a_program_must_be_named() -> None:
    with pytest.raises(UsageError, match="agent command has no program"):
        agent_named("command")


@pytest.mark.parametrize(
    ("output", "exit_code", "kind"),
    [
        (b"done\n", 0, OutcomeKind.OK),
        (b"", 0, OutcomeKind.OK),
        (b"Error: You've hit your limit \xc2\xb7 resets 6pm (America/New_York)\n", 1, OutcomeKind.LIMIT),
        (b"some work\nYou've hit your limit \xc2\xb7 resets 6pm (America/New_York)\n", 0, OutcomeKind.LIMIT),
        (b"You've hit your limit\nthat is what the page now says\n", 0, OutcomeKind.OK),
        (b'+    print("You\'ve hit your limit")\nassertion failed\n', 1, OutcomeKind.FAILED),
        (b'x = "429 Too Many Requests"\nsyntax error\n', 1, OutcomeKind.FAILED),
        (b"Invalid API key\nexit\n", 2, OutcomeKind.AUTH),
        (b"tests failed\n", 1, OutcomeKind.FAILED),
        (b"\xff\xfe\n", 7, OutcomeKind.FAILED),
    ],
)
def test_its_exit_code_is_its_word_unless_a_line_is_a_notice(output: bytes, exit_code: int, kind: OutcomeKind) -> None:
    reading = command().read(output, exit_code=exit_code, signal=None, now_ms=NOW_MS, zone=BERLIN)
    assert reading.kind is kind


def test_why_it_failed_is_the_last_line_that_says_something() -> None:
    output = b"+-+---- 1 ----\n  | ValueError: odd\n  +------------------------------------\n"
    assert command().read(output, exit_code=1, signal=None, now_ms=NOW_MS, zone=BERLIN).message == "| ValueError: odd"


def test_overrides_replace_the_program_and_add_words_and_variables(bench: Bench) -> None:
    overrides = Overrides(command=("npx", "claude"), args=("--foo",), env_pass=("MY_TOKEN", "ANTHROPIC_API_KEY"))
    agent = agent_named("claude", overrides)
    launch = agent.launch(bench.assignment())
    assert launch.argv[:3] == ("npx", "claude", "-p")
    assert launch.argv[-1] == "--foo"
    assert launch.env_pass.count("ANTHROPIC_API_KEY") == 1
    assert "MY_TOKEN" in launch.env_pass
    assert agent.version_argv == ("npx", "claude", "--version")


@pytest.mark.parametrize("name", ["claude", "codex", "gemini", "opencode"])
def test_a_prompt_never_stands_among_the_arguments(bench: Bench, name: str) -> None:
    launch = agent_named(name).launch(bench.assignment("a secret plan"))
    assert launch.stdin == bench.prompt_file
    assert not any("secret" in word for word in launch.argv)
    assert Path(launch.argv[0]).name == name
