"""Gemini CLI: errors on the other stream, and exit codes that are HTTP statuses."""

import pytest
from tests.agents.starting import BERLIN, NOW_MS, Bench

from budwood.agents.base import OutcomeKind, Overrides, Tokens
from budwood.agents.registry import agent_named
from budwood.errors import UsageError


def test_a_success_adds_up_all_models(bench: Bench) -> None:
    reading = bench.reading("gemini", "ok")
    assert (reading.kind, reading.cost_usd, reading.turns, reading.session) == (OutcomeKind.OK, None, 3, "gemini-1")
    assert reading.split == Tokens(input=105, output=41, cached=40)
    assert reading.by_model["gemini-3-pro"] == Tokens(input=100, output=40, cached=40)
    assert reading.denied == ()


@pytest.mark.parametrize(
    ("behaviour", "kind", "words"),
    [
        ("recovered", OutcomeKind.OK, ""),
        ("auth", OutcomeKind.AUTH, "API key not valid"),
        ("no-login", OutcomeKind.AUTH, "Please set an Auth method"),
        ("bare-401", OutcomeKind.AUTH, "the service answered 401"),
        ("bad-request", OutcomeKind.FAILED, "invalid argument"),
        ("bare-429", OutcomeKind.LIMIT, "the service answered 429"),
        ("context", OutcomeKind.CONTEXT, "exceeds the maximum number of tokens"),
        ("term", OutcomeKind.FAILED, "without a word on success"),
        ("empty", OutcomeKind.FAILED, "it answered nothing"),
        ("stream", OutcomeKind.OK, ""),
    ],
)
def test_every_ending_is_told_from_the_others(bench: Bench, behaviour: str, kind: OutcomeKind, words: str) -> None:
    reading = bench.reading("gemini", behaviour)
    assert reading.kind is kind
    assert words in reading.message


def test_a_limit_with_a_delay_is_a_limit_though_it_speaks_of_quota(bench: Bench) -> None:
    reading = bench.reading("gemini", "limit")
    assert (reading.kind, reading.until_ms) == (OutcomeKind.LIMIT, NOW_MS + 34_500)


def test_the_cap_on_turns_comes_in_a_file_of_the_attempt(bench: Bench) -> None:
    reading = bench.reading("gemini", "turns", max_turns=7)
    assert (reading.kind, reading.message) == (OutcomeKind.TURNS, "Reached max session turns (7) for this session.")
    launch = agent_named("gemini").launch(bench.assignment())
    assert "GEMINI_CLI_SYSTEM_SETTINGS_PATH" not in launch.env
    assert all(bench.state in path.parents for path in launch.files)


def test_a_tool_that_was_rejected_is_named(bench: Bench) -> None:
    assert bench.reading("gemini", "rejected").denied == ("run_shell_command",)


def test_a_session_can_be_gone_on_with(bench: Bench) -> None:
    assert bench.reading("gemini", "ok", session="gemini-9").session == "gemini-9"


@pytest.mark.parametrize(
    ("exit_code", "kind"),
    [(145, OutcomeKind.AUTH), (144, OutcomeKind.FAILED), (173, OutcomeKind.LIMIT), (53, OutcomeKind.TURNS),
     (41, OutcomeKind.AUTH), (143, OutcomeKind.KILLED), (247, OutcomeKind.FAILED), (52, OutcomeKind.FAILED)],
)  # fmt: skip
def test_an_exit_code_alone_tells_what_it_stands_for(exit_code: int, kind: OutcomeKind) -> None:
    reading = agent_named("gemini").read(b"", exit_code=exit_code, signal=None, now_ms=NOW_MS, zone=BERLIN)
    assert reading.kind is kind


def test_it_cannot_have_a_state_of_its_own() -> None:
    with pytest.raises(UsageError, match="agent gemini cannot have a state of its own"):
        agent_named("gemini", Overrides(own_state=True))
