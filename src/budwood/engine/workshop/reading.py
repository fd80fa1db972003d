"""What an agent said, heard at an attempt's end.

Knows agents and outcomes; must not know workspaces. Reading takes seconds where much was printed: not for a loop.
"""

from collections.abc import Mapping
from datetime import tzinfo
from pathlib import Path
from typing import NamedTuple

import msgspec

from budwood._core.judge import ENVIRONMENT, SETUP
from budwood._core.model import AgentTerms, AttemptPhase, Outcome, StepEnd, Told, Usage
from budwood.agents.base import Agent, OutcomeKind, Price, Reading, Tokens
from budwood.agents.prices import priced
from budwood.engine.workshop.orders import Order

_UNKNOWN_LIMIT_MS = 5 * 60 * 1000
"""How long an account rests whose limit is stated without its end."""
SEEN = ("memory", *ENVIRONMENT)
"""What the supervisor saw itself: an agent that was ended cannot know why."""
_ACCOUNT = (OutcomeKind.LIMIT, OutcomeKind.AUTH, OutcomeKind.QUOTA)
_JUDGES = ("check", "review")
"""Steps that judge what an agent made."""
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


class Heard(NamedTuple):
    """What an agent told, and what of it is believed where nothing better is known."""

    told: Told
    usage: Usage
    kind: OutcomeKind
    message: str
    until_ms: int | None
    """When the limit ends that stopped it."""


class Ear(NamedTuple):
    """What one agent is heard with."""

    name: str
    agent: Agent
    terms: AgentTerms
    prices: Mapping[str, Price]
    model: str | None
    """What it was told to use."""
    now_ms: int
    zone: tzinfo

    def hear(
        self, outcome: Outcome, step: StepEnd, transcript: Path, *, spent: tuple[int, int, int] = (0, 0, 0)
    ) -> Heard:
        """Read what it printed in a step; `spent` is what its session had used before."""
        before = Tokens(input=spent[0], output=spent[1], cached=spent[2])
        reading = self.agent.read(
            transcript.read_bytes() if transcript.exists() else b"",
            exit_code=step.exit_code,
            signal=step.signal,
            now_ms=self.now_ms,
            zone=self.zone,
            timed_out=step.timed_out,
            tokens_before=before,
        )
        reading = priced(reading, self.prices, model=self.model)
        told = Told(
            agent=self.name,
            outcome=reading.kind.value,
            model=self.model,
            turns=reading.turns,
            session=reading.session,
            spent=_sum(before if reading.split is None else before.plus(reading.split)),
            list_usd=reading.cost_usd if self.terms.subscription else None,
        )
        until_ms = reading.until_ms or self.now_ms + _UNKNOWN_LIMIT_MS
        return Heard(
            told=told,
            usage=_usage(outcome, reading, self.terms),
            kind=reading.kind,
            message=reading.message or outcome.message,
            until_ms=until_ms if reading.kind is OutcomeKind.LIMIT else None,
        )


def read_agent(outcome: Outcome, order: Order, ear: Ear, *, transcript: Path) -> Outcome:
    """Add what the agent tells; where a check has passed, its word on success is not asked for."""
    step = next((step for step in outcome.steps if step.name == "agent"), None)
    if step is None:
        return outcome
    heard = ear.hear(outcome, step, transcript, spent=order.spent)
    told = msgspec.structs.replace(outcome, told=heard.told, usage=heard.usage)
    return told if _is_settled(outcome) else _believed(told, heard)


def _sum(tokens: Tokens) -> tuple[int, int, int]:
    return tokens.input, tokens.output, tokens.cached


def _is_settled(outcome: Outcome) -> bool:
    """Say whether there is better evidence than an agent's word: an end from outside, or changes that a check passed.

    A check passes as well where nothing was done.
    """
    if outcome.phase not in (AttemptPhase.SUCCEEDED, AttemptPhase.FAILED) or outcome.error_type in SEEN:
        return True
    changed = outcome.left is not None and outcome.left.files > 0
    return outcome.phase is AttemptPhase.SUCCEEDED and outcome.steps[-1].name in _JUDGES and changed


def _believed(outcome: Outcome, heard: Heard) -> Outcome:
    if heard.kind is OutcomeKind.OK:
        return outcome
    refused = outcome.phase is AttemptPhase.FAILED and outcome.steps[-1].name in _JUDGES
    if heard.kind is OutcomeKind.FAILED and (refused or outcome.error_type in SETUP):
        return outcome  # what judges it has refused it, or it could not even begin, which says more
    return msgspec.structs.replace(
        outcome,
        phase=AttemptPhase.FAILED,
        error_type=TYPES[heard.kind],
        message=heard.message,
        until_ms=heard.until_ms,
    )


def _usage(outcome: Outcome, reading: Reading, terms: AgentTerms) -> Usage:
    """Take the agent's own figures, else what the attempt reported itself; a subscription costs no money."""
    reported = outcome.usage
    cost = reported.cost_usd if reading.cost_usd is None else reading.cost_usd
    tokens = reported.tokens if reading.tokens is None else reading.tokens
    if _was_turned_away(outcome, reading):
        cost, tokens = cost or 0.0, tokens or 0
    return Usage(cost_usd=0.0 if terms.subscription else cost, tokens=tokens, problem=reported.problem)


def _was_turned_away(outcome: Outcome, reading: Reading) -> bool:
    """Say whether the account stopped it before any work: no model answered, nothing was used, no file is different."""
    worked = reading.tokens or (outcome.left is not None and outcome.left.files > 0)
    return reading.kind in _ACCOUNT and reading.answered is False and not worked
