"""What an agent said, heard at an attempt's end.

Knows agents and outcomes; must not know workspaces. Reading takes seconds where much was printed: not for a loop.
"""

from collections.abc import Mapping
from datetime import tzinfo
from pathlib import Path

import msgspec

from budwood._core.judge import ENVIRONMENT, SETUP
from budwood._core.model import AgentTerms, AttemptPhase, Outcome, Told, Usage
from budwood.agents.base import Agent, OutcomeKind, Price, Reading, Tokens
from budwood.agents.prices import priced
from budwood.engine.workshop.orders import Order

_UNKNOWN_LIMIT_MS = 5 * 60 * 1000
"""How long an account rests whose limit is stated without its end."""
_SEEN = ("memory", *ENVIRONMENT)
"""What the supervisor saw itself: an agent that was ended cannot know why."""
TYPES = {
    OutcomeKind.FAILED: "agent",
    OutcomeKind.LIMIT: "limit",
    OutcomeKind.AUTH: "auth",
    OutcomeKind.QUOTA: "quota",
    OutcomeKind.BUDGET: "agent_budget",
    OutcomeKind.REFUSED: "refused",
    OutcomeKind.CONTEXT: "context",
    OutcomeKind.TURNS: "turns",
    OutcomeKind.TIMEOUT: "timeout",
    OutcomeKind.KILLED: "signal",
}


def read_agent(
    outcome: Outcome,
    order: Order,
    *,
    agent: Agent,
    terms: AgentTerms,
    prices: Mapping[str, Price],
    transcript: Path,
    now_ms: int,
    zone: tzinfo,
) -> Outcome:
    """Add what the agent tells; where a check has passed, its word on success is not asked for."""
    step = next((step for step in outcome.steps if step.name == "agent"), None)
    if step is None:
        return outcome
    before = Tokens(input=order.spent[0], output=order.spent[1], cached=order.spent[2])
    reading = agent.read(
        transcript.read_bytes() if transcript.exists() else b"",
        exit_code=step.exit_code,
        signal=step.signal,
        now_ms=now_ms,
        zone=zone,
        timed_out=step.timed_out,
        tokens_before=before,
    )
    reading = priced(reading, prices, model=order.model)
    told = Told(
        agent=order.agent,
        outcome=reading.kind.value,
        model=order.model,
        turns=reading.turns,
        session=reading.session,
        spent=_sum(before if reading.split is None else before.plus(reading.split)),
        list_usd=reading.cost_usd if terms.subscription else None,
    )
    heard = msgspec.structs.replace(outcome, told=told, usage=_usage(outcome.usage, reading, terms))
    return heard if _is_settled(outcome) else _believed(heard, reading, now_ms)


def _sum(tokens: Tokens) -> tuple[int, int, int]:
    return tokens.input, tokens.output, tokens.cached


def _is_settled(outcome: Outcome) -> bool:
    """Say whether there is better evidence than an agent's word: an end from outside, or changes that a check passed.

    A check passes as well where nothing was done.
    """
    if outcome.phase not in (AttemptPhase.SUCCEEDED, AttemptPhase.FAILED) or outcome.error_type in _SEEN:
        return True
    changed = outcome.left is not None and outcome.left.files > 0
    return outcome.phase is AttemptPhase.SUCCEEDED and outcome.steps[-1].name == "check" and changed


def _believed(outcome: Outcome, reading: Reading, now_ms: int) -> Outcome:
    if reading.kind is OutcomeKind.OK:
        return outcome
    if reading.kind is OutcomeKind.FAILED and (outcome.steps[-1].name == "check" or outcome.error_type in SETUP):
        return outcome  # the check has refused it, or it could not even begin, which says more
    until_ms = (reading.until_ms or now_ms + _UNKNOWN_LIMIT_MS) if reading.kind is OutcomeKind.LIMIT else None
    return msgspec.structs.replace(
        outcome,
        phase=AttemptPhase.FAILED,
        error_type=TYPES[reading.kind],
        message=reading.message or outcome.message,
        until_ms=until_ms,
    )


def _usage(reported: Usage, reading: Reading, terms: AgentTerms) -> Usage:
    """Take the agent's own figures, else what the attempt reported itself; a subscription costs no money."""
    cost = reported.cost_usd if reading.cost_usd is None else reading.cost_usd
    return Usage(
        cost_usd=0.0 if terms.subscription else cost,
        tokens=reported.tokens if reading.tokens is None else reading.tokens,
        problem=reported.problem,
    )
