"""An account that stops its agent before any work: whether a model has answered is in what the program printed."""

import pytest
from tests.agents.starting import BERLIN, NOW_MS, Bench

from budwood.agents.base import Overrides, Reading
from budwood.agents.registry import agent_named

NOTICE = "You've hit your usage limit. Try again in 20s"
WORKED = {
    "claude": '{"type":"assistant","message":{"content":[]}}',
    "codex": '{"type":"item.completed","item":{"type":"command_execution","command":"ls"}}',
    "gemini": '{"response":"Done.","stats":{"models":{}}}',
    "opencode": '{"type":"tool_use","part":{"tool":"bash"}}',
    "aider": "Tokens: 1.0k sent, 50 received. Cost: $0.0021 message, $0.01 session.",
}


def reading_of(name: str, *lines: str) -> Reading:
    output = "\n".join(lines).encode()
    return agent_named(name).read(output, exit_code=1, signal=None, now_ms=NOW_MS, zone=BERLIN)


@pytest.mark.parametrize("name", ["codex", "gemini", "opencode", "aider"])
def test_of_a_refused_login_nothing_was_answered(bench: Bench, name: str) -> None:
    assert bench.reading(name, "auth").answered is False


def test_of_a_limit_at_the_first_call_nothing_was_answered(bench: Bench) -> None:
    assert bench.reading("codex", "limit").answered is False


def test_who_tells_nothing_of_what_was_before_a_limit_may_have_worked(bench: Bench) -> None:
    assert bench.reading("gemini", "limit").answered is None


@pytest.mark.parametrize("name", ["opencode", "aider"])
def test_of_a_limit_after_work_something_was(bench: Bench, name: str) -> None:
    assert bench.reading(name, "limit").answered is True


def test_of_a_program_that_says_no_more_than_that_it_has_no_login_nothing_was_answered(bench: Bench) -> None:
    assert bench.reading("claude", "login").answered is False
    own_words = '{"type":"assistant","message":{"model":"<synthetic>","content":[]}}'
    assert reading_of("claude", own_words, NOTICE).answered is False


@pytest.mark.parametrize("name", WORKED)
def test_work_is_seen_and_a_middle_that_is_missing_may_have_held_some(name: str) -> None:
    assert reading_of(name, NOTICE).answered is (None if name == "gemini" else False)
    assert reading_of(name, WORKED[name], NOTICE).answered is True
    assert reading_of(name, "[budwood: 123456 bytes dropped here]", NOTICE).answered is None


def test_of_a_command_nobody_knows() -> None:
    agent = agent_named("command", Overrides(command=("mine",)))
    reading = agent.read(NOTICE.encode(), exit_code=1, signal=None, now_ms=NOW_MS, zone=BERLIN)
    assert reading.answered is None
