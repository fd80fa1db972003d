"""Codex: prose for errors, and tokens that count on over a thread."""

import pytest
from tests.agents.starting import BERLIN, NOW_MS, Bench, moment

from budwood.agents.base import OutcomeKind, Overrides, Tokens
from budwood.agents.registry import agent_named


def test_a_success_tells_tokens_and_thread_but_no_cost(bench: Bench) -> None:
    reading = bench.reading("codex", "ok")
    assert (reading.kind, reading.cost_usd, reading.turns) == (OutcomeKind.OK, None, 1)
    assert reading.split == Tokens(input=2000, output=100, cached=800)
    assert (reading.tokens, reading.session) == (2100, "0199-thread")


def test_a_resumed_thread_counts_on_and_only_the_difference_is_told(bench: Bench) -> None:
    first = bench.reading("codex", "ok")
    assert first.split is not None
    second = bench.reading("codex", "ok", before=first.split, session="0199-thread")
    assert second.split == Tokens(input=1000, output=50, cached=400)
    assert second.session == "0199-thread"


def test_a_thread_that_counts_anew_is_taken_as_it_is(bench: Bench) -> None:
    reading = bench.reading("codex", "ok", before=Tokens(input=9000, output=900))
    assert reading.split == Tokens(input=2000, output=100, cached=800)


@pytest.mark.parametrize(
    ("behaviour", "kind", "words"),
    [
        ("recovered", OutcomeKind.OK, ""),
        ("limited", OutcomeKind.LIMIT, "exceeded retry limit, last status: 429"),
        ("auth", OutcomeKind.AUTH, "unexpected status 401 Unauthorized"),
        ("quota", OutcomeKind.QUOTA, "Quota exceeded"),
        ("context", OutcomeKind.CONTEXT, "ran out of room"),
        ("silent", OutcomeKind.FAILED, "without a word on success"),
        ("segv", OutcomeKind.FAILED, "it crashed by SIGSEGV"),
        ("garbage", OutcomeKind.FAILED, "index out of bounds"),
    ],
)
def test_every_ending_is_told_from_the_others(bench: Bench, behaviour: str, kind: OutcomeKind, words: str) -> None:
    reading = bench.reading("codex", behaviour)
    assert reading.kind is kind
    assert words in reading.message


def test_the_date_of_a_limit_is_read_in_the_given_zone(bench: Bench) -> None:
    reading = bench.reading("codex", "limit")
    assert (reading.kind, reading.until_ms) == (OutcomeKind.LIMIT, moment(2026, 6, 9, 15, 28))


def test_an_answer_that_is_nothing_but_a_notice_is_no_success(bench: Bench) -> None:
    reading = bench.reading("codex", "lying-success")
    assert (reading.kind, reading.until_ms) == (OutcomeKind.LIMIT, NOW_MS + 20_000)


def test_a_command_that_its_sandbox_declined_is_told(bench: Bench) -> None:
    assert bench.reading("codex", "declined").denied == ("command_execution",)


def test_options_stand_before_the_subcommand_and_the_prompt_is_no_argument(bench: Bench) -> None:
    given = bench.assignment("secret words")
    words = agent_named("codex", Overrides(own_state=True)).launch(given)
    assert words.argv[-1] == "-"
    assert words.stdin == given.prompt_file
    assert "secret words" not in words.argv
    assert words.env["CODEX_HOME"] == str(bench.state / "codex")


def test_half_a_thread_is_no_success() -> None:
    output = b'{"type":"thread.started","thread_id":"t"}\n{"type":"turn.comp'
    reading = agent_named("codex").read(output, exit_code=0, signal=None, now_ms=NOW_MS, zone=BERLIN)
    assert (reading.kind, reading.session, reading.tokens) == (OutcomeKind.FAILED, "t", None)
