"""Claude Code: what its records say, and where they lie."""

import pytest
from tests.agents.starting import BERLIN, NOW_MS, Bench, moment

from budwood.agents.base import OutcomeKind, Overrides, Tokens
from budwood.agents.registry import agent_named

AT_SIX = moment(2026, 6, 9, 0)
"""6 pm in New York, which is midnight in Berlin."""


def test_a_success_tells_cost_tokens_turns_and_session(bench: Bench) -> None:
    reading = bench.reading("claude", "ok")
    assert (reading.kind, reading.message, reading.until_ms) == (OutcomeKind.OK, "", None)
    assert (reading.cost_usd, reading.turns, reading.tokens) == (0.525, 3, 1040)
    assert reading.split == Tokens(input=1010, output=30, cached=60)
    assert reading.by_model["haiku"] == Tokens(input=10, output=5)
    assert reading.session == "5f7f3a52-8d0d-4a44-a9d0-111111111111"
    assert (bench.workspace / "made.txt").exists()


def test_the_assignment_reaches_the_command_line(bench: Bench) -> None:
    reading = bench.reading("claude", "ok", session="s-1", model="haiku", max_turns=4, budget_usd=0.8)
    assert reading.session == "s-1"
    given = bench.assignment()
    words = agent_named("claude").launch(given).argv
    assert "Do it." not in " ".join(words)
    assert not {"--resume", "--model", "--max-turns", "--max-budget-usd"} & set(words)


def test_a_sandbox_is_claimed_only_by_the_user(bench: Bench) -> None:
    launch = agent_named("claude").launch(bench.assignment())
    assert "IS_SANDBOX" not in launch.env
    assert "IS_SANDBOX" in launch.env_pass


@pytest.mark.parametrize("behaviour", ["limit", "lying-success"])
def test_a_limit_counts_before_what_the_record_claims(bench: Bench, behaviour: str) -> None:
    reading = bench.reading("claude", behaviour)
    assert (reading.kind, reading.until_ms) == (OutcomeKind.LIMIT, AT_SIX)
    assert reading.message == "You've hit your session limit · resets 6pm (America/New_York)"


@pytest.mark.parametrize("behaviour", ["talks", "recovered", "cut"])
def test_words_about_limits_in_work_that_was_done_are_no_limit(bench: Bench, behaviour: str) -> None:
    assert bench.reading("claude", behaviour).kind is OutcomeKind.OK


def test_a_limit_that_is_retried_until_the_process_is_ended_is_a_limit(bench: Bench) -> None:
    assert bench.reading("claude", "stuck").kind is OutcomeKind.LIMIT


def test_a_record_of_the_stream_states_when_a_limit_ends(bench: Bench) -> None:
    agent = agent_named("claude")
    launch = agent.launch(bench.assignment("behave: event"))
    done = bench.start(launch)
    now_ms = 1_899_990_000_000
    reading = agent.read(done.stdout, exit_code=1, signal=None, now_ms=now_ms, zone=BERLIN)
    assert (reading.kind, reading.until_ms) == (OutcomeKind.LIMIT, 1_900_000_000_000)
    later = agent.read(done.stdout, exit_code=1, signal=None, now_ms=now_ms + 10_000_001, zone=BERLIN)
    assert (later.kind, later.until_ms) == (OutcomeKind.LIMIT, None)


@pytest.mark.parametrize(
    ("behaviour", "kind", "words"),
    [
        ("auth", OutcomeKind.AUTH, "Failed to authenticate. API Error: 401 invalid x-api-key"),
        ("login", OutcomeKind.AUTH, "Invalid API key · Please run /login"),
        ("overloaded", OutcomeKind.FAILED, "not this account's limit"),
        ("turns", OutcomeKind.TURNS, "it reached its cap on turns"),
        ("budget", OutcomeKind.BUDGET, "it reached its cap on money"),
        ("context", OutcomeKind.CONTEXT, "Prompt is too long"),
        ("refusal", OutcomeKind.REFUSED, "I will not."),
        ("killed", OutcomeKind.KILLED, "it was ended by SIGKILL"),
        ("term", OutcomeKind.KILLED, "it was ended by SIGTERM"),
        ("segv", OutcomeKind.FAILED, "it crashed by SIGSEGV"),
        ("silent", OutcomeKind.FAILED, "it ended without a word on success"),
        ("cut-end", OutcomeKind.FAILED, "it ended without a word on success"),
        ("garbage", OutcomeKind.FAILED, ""),
    ],
)
def test_every_ending_is_told_from_the_others(bench: Bench, behaviour: str, kind: OutcomeKind, words: str) -> None:
    reading = bench.reading("claude", behaviour)
    assert reading.kind is kind
    assert words in reading.message
    assert "\n" not in reading.message


def test_what_was_used_before_a_cap_counts(bench: Bench) -> None:
    assert bench.reading("claude", "turns").cost_usd == 0.525


def test_the_session_of_one_that_was_killed_is_known_and_its_cost_is_not(bench: Bench) -> None:
    reading = bench.reading("claude", "killed")
    assert reading.session is not None
    assert (reading.cost_usd, reading.tokens) == (None, None)


def test_refused_tools_are_named_though_it_claims_success(bench: Bench) -> None:
    reading = bench.reading("claude", "denied")
    assert (reading.kind, reading.denied) == (OutcomeKind.OK, ("Bash", "Write"))
    assert reading.message == "done, though it was refused Bash, Write"


def test_a_time_limit_is_told_unless_the_account_was_stopped_or_the_work_was_done(bench: Bench) -> None:
    agent = agent_named("claude")
    result = b'{"type":"result","subtype":"success","is_error":false,"result":"Done.","session_id":"s"}\n'

    def kind(output: bytes) -> OutcomeKind:
        return agent.read(output, exit_code=None, signal=9, now_ms=NOW_MS, zone=BERLIN, timed_out=True).kind

    assert kind(b'{"type":"system","subtype":"init","session_id":"s"}\n') is OutcomeKind.TIMEOUT
    assert kind(b"Request rejected (429)\n") is OutcomeKind.LIMIT
    assert kind(result) is OutcomeKind.OK


def test_state_of_its_own_only_on_request(bench: Bench) -> None:
    given = bench.assignment()
    shared = agent_named("claude").launch(given)
    assert "CLAUDE_CONFIG_DIR" not in shared.env
    assert {"CLAUDE_CONFIG_DIR", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"} <= set(shared.env_pass)
    own = agent_named("claude", Overrides(own_state=True)).launch(given)
    assert own.env["CLAUDE_CONFIG_DIR"] == str(bench.state / "claude")
    assert "CLAUDE_CONFIG_DIR" not in own.env_pass
    assert "HOME" not in own.env
