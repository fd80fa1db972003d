"""The adapter of aider: text only, and exit code 0 whatever happened."""

import pytest
from tests.agents.starting import BERLIN, NOW_MS, Bench

from budwood.agents.base import OutcomeKind, Tokens
from budwood.agents.registry import agent_named
from budwood.errors import UsageError


def test_lines_on_tokens_are_added_up_and_the_last_cost_is_the_sum(bench: Bench) -> None:
    reading = bench.reading("aider", "ok")
    assert (reading.kind, reading.turns, reading.cost_usd) == (OutcomeKind.OK, 2, 1000.51)
    assert reading.split == Tokens(input=13_000, output=1_200_050, cached=2_500)
    assert not any(bench.workspace.iterdir())


def test_no_price_is_no_cost(bench: Bench) -> None:
    reading = bench.reading("aider", "unpriced")
    assert (reading.kind, reading.tokens, reading.cost_usd) == (OutcomeKind.OK, 1000, None)


@pytest.mark.parametrize(
    ("behaviour", "kind", "words"),
    [
        ("recovered", OutcomeKind.OK, ""),
        ("auth", OutcomeKind.AUTH, "not able to authenticate you"),
        ("quota", OutcomeKind.QUOTA, "insufficient_quota"),
        ("context", OutcomeKind.CONTEXT, "has hit a token limit"),
        ("bad-request", OutcomeKind.FAILED, "litellm.BadRequestError"),
        ("turns", OutcomeKind.TURNS, "Only 3 reflections allowed"),
        ("silent", OutcomeKind.FAILED, "no answer came from the model"),
        ("segv", OutcomeKind.FAILED, "it crashed by SIGSEGV"),
    ],
)
def test_every_ending_is_told_though_the_exit_code_is_0(
    bench: Bench, behaviour: str, kind: OutcomeKind, words: str
) -> None:
    reading = bench.reading("aider", behaviour)
    assert reading.kind is kind
    assert words in reading.message


def test_a_limit_behind_the_last_answer_is_a_limit(bench: Bench) -> None:
    reading = bench.reading("aider", "limit")
    assert (reading.kind, reading.until_ms, reading.tokens) == (OutcomeKind.LIMIT, NOW_MS + 20_000, 1050)


def test_it_has_no_session_to_go_on_with(bench: Bench) -> None:
    with pytest.raises(UsageError, match="agent aider cannot go on with session s-1"):
        bench.reading("aider", "ok", session="s-1")


def test_bytes_that_are_no_text_are_read_around() -> None:
    output = b"\xff\xfe\x1b[32mTokens: 2k sent, 1.5k received.\x1b[0m\r\n"
    reading = agent_named("aider").read(output, exit_code=0, signal=None, now_ms=NOW_MS, zone=BERLIN)
    assert (reading.kind, reading.tokens) == (OutcomeKind.FAILED, None)
    reading = agent_named("aider").read(output[2:], exit_code=0, signal=None, now_ms=NOW_MS, zone=BERLIN)
    assert (reading.kind, reading.tokens) == (OutcomeKind.OK, 3500)
