"""The adapter of opencode: no final record, so steps are added up, and state is never shared."""

import math

import pytest
from tests.agents.starting import BERLIN, NOW_MS, Bench

from budwood.agents.base import OutcomeKind, Tokens
from budwood.agents.registry import agent_named


def test_steps_are_added_up(bench: Bench) -> None:
    reading = bench.reading("opencode", "ok")
    assert (reading.kind, reading.turns, reading.session) == (OutcomeKind.OK, 2, "ses_1")
    assert reading.cost_usd is not None
    assert math.isclose(reading.cost_usd, 0.03)
    assert reading.split == Tokens(input=32, output=12, cached=8)


def test_no_price_is_no_cost_of_nothing(bench: Bench) -> None:
    reading = bench.reading("opencode", "unpriced")
    assert (reading.kind, reading.cost_usd, reading.tokens) == (OutcomeKind.OK, None, 22)


@pytest.mark.parametrize("behaviour", ["no-usage", "cut-step"])
def test_where_usage_is_missing_the_sum_is_unknown_rather_than_too_small(bench: Bench, behaviour: str) -> None:
    reading = bench.reading("opencode", behaviour)
    assert (reading.cost_usd, reading.tokens) == (None, None)


def test_the_sum_of_a_shortened_log_is_unknown() -> None:
    step = b'{"type":"step_finish","part":{"reason":"stop","cost":0.5,"tokens":{"input":5,"output":5}}}\n'
    output = step + b"[budwood: 99 bytes dropped here]\nhalf a line\n" + step
    reading = agent_named("opencode").read(output, exit_code=0, signal=None, now_ms=NOW_MS, zone=BERLIN)
    assert (reading.kind, reading.cost_usd, reading.tokens) == (OutcomeKind.OK, None, None)


@pytest.mark.parametrize(
    ("behaviour", "kind", "words"),
    [
        ("cut-step", OutcomeKind.FAILED, "it ended in the middle of its work"),
        ("middle", OutcomeKind.FAILED, "it ended in the middle of its work (tool-calls)"),
        ("auth", OutcomeKind.AUTH, "Unauthorized (status 401)"),
        ("flat", OutcomeKind.AUTH, "Unauthorized (status 401)"),
        ("provider", OutcomeKind.AUTH, "no key"),
        ("overloaded", OutcomeKind.FAILED, "not this account's limit"),
        ("context", OutcomeKind.CONTEXT, "prompt is too long"),
        ("migration", OutcomeKind.FAILED, "SQLiteError: table project already exists"),
        ("segv", OutcomeKind.FAILED, "it crashed by SIGSEGV"),
    ],
)
def test_every_ending_is_told_from_the_others(bench: Bench, behaviour: str, kind: OutcomeKind, words: str) -> None:
    reading = bench.reading("opencode", behaviour)
    assert reading.kind is kind
    assert words in reading.message


def test_a_limit_after_work_is_a_limit_until_then(bench: Bench) -> None:
    reading = bench.reading("opencode", "limit")
    assert (reading.kind, reading.until_ms) == (OutcomeKind.LIMIT, NOW_MS + 360_000)
    assert reading.cost_usd == 0.01


def test_a_tool_without_permission_is_named(bench: Bench) -> None:
    assert bench.reading("opencode", "rejected").denied == ("bash",)


def test_each_attempt_has_its_own_state(bench: Bench) -> None:
    launch = agent_named("opencode").launch(bench.assignment())
    assert launch.env["XDG_DATA_HOME"] == str(bench.state / "opencode")
    assert "HOME" not in launch.env
