"""The review of a candidate by an agent: where its verdict is written, what it says, and what came of it.

A verdict counts where the agent ended well, and only in the very words that it was told: whatever else it left is no
verdict, and then the work has neither been accepted nor sent back. Knows agents' words; must not read files or ask git.
"""

import hashlib
from typing import Literal

from msgspec.structs import replace

from budwood._core.judge import LIMIT, OUTSIDE, REVIEW, REVIEWER, SETUP
from budwood._core.model import AttemptPhase, Left, Outcome, Reviewed, Usage
from budwood.agents.base import OutcomeKind
from budwood.agents.prompts import cut
from budwood.engine.workshop.later import added
from budwood.engine.workshop.orders import Order
from budwood.engine.workshop.reading import SEEN, TYPES, Heard

ACCEPT: Literal["accept"] = "accept"
SEND_BACK: Literal["send back"] = "send back"
VERDICT = "BUDWOOD_VERDICT"
"""Names the file that a reviewer writes its verdict into."""
_SAID_BYTES = 8 * 1024
_AROUND = " \t\r#*_`'\".:!"
"""What may stand around the first line: an agent likes to write Markdown."""


def verdict_name(left: Left) -> str:
    """Name the file of a verdict: after everything that was left, so that nothing which is part of that can be it."""
    return f"verdict-{hashlib.sha256(left.commit.encode()).hexdigest()[:16]}.md"


def with_review(order: Order, made: Outcome, asked: Outcome, *, heard: Heard, verdict: str | None) -> Outcome:
    """Say how an attempt ended that an agent was asked to review."""
    told = heard.told
    reviewed = Reviewed(
        agent=told.agent,
        outcome=told.outcome,
        model=told.model,
        usage=heard.usage,
        wall_s=asked.measure.wall_s,
        list_usd=told.list_usd,
    )
    outcome = replace(added(made, asked), usage=_sum(_own_part(order, made), heard.usage), reviewed=reviewed)
    if asked.phase not in (AttemptPhase.SUCCEEDED, AttemptPhase.FAILED) or asked.error_type in (*SEEN, *SETUP):
        words = f"while {told.agent} reviewed it: {asked.message}"
        return replace(outcome, phase=asked.phase, error_type=asked.error_type, message=words)
    if heard.kind is not OutcomeKind.OK:
        kind = TYPES[heard.kind]
        if kind == LIMIT or kind in OUTSIDE:
            words = f"its reviewer {told.agent}: {heard.message}"
            return _failed(outcome, kind, words, until_ms=heard.until_ms)
        return _failed(outcome, REVIEWER, f"its reviewer {told.agent} gave no verdict: {heard.message}")
    return _decided(outcome, reviewed, verdict)


def _decided(outcome: Outcome, reviewed: Reviewed, text: str | None) -> Outcome:
    """Do what a verdict says."""
    if text is None:
        return _failed(outcome, REVIEWER, f"its reviewer {reviewed.agent} gave no verdict: it wrote none")
    first, _, rest = text.strip().partition("\n")
    word, why = first.strip(_AROUND).casefold(), rest.strip()
    if word == ACCEPT:
        return replace(outcome, reviewed=replace(reviewed, verdict=ACCEPT))
    if word == SEND_BACK:
        sent = replace(outcome, reviewed=replace(reviewed, verdict=SEND_BACK), check_said=cut(why, _SAID_BYTES))
        about = " ".join(why.partition("\n")[0].split()) or "it did not say why"
        return _failed(sent, REVIEW, f"its reviewer {reviewed.agent} sent it back: {about:.200}")
    words = f"its reviewer {reviewed.agent} gave no verdict: what it wrote begins with {first.strip()[:60]!r}"
    return _failed(outcome, REVIEWER, words)


def _own_part(order: Order, made: Outcome) -> Usage:
    """Return what the attempt used before it was reviewed; where no agent worked, that is nothing."""
    usage = made.usage
    if order.unreviewed is None:
        return usage
    return replace(usage, cost_usd=usage.cost_usd or 0.0, tokens=usage.tokens or 0)


def _sum(own: Usage, review: Usage) -> Usage:
    """Add up what is known; what the work itself took stays unknown, whatever its review took."""
    return Usage(
        cost_usd=None if own.cost_usd is None else own.cost_usd + (review.cost_usd or 0.0),
        tokens=None if own.tokens is None else own.tokens + (review.tokens or 0),
        problem="; ".join(filter(None, (own.problem, review.problem))),
    )


def _failed(outcome: Outcome, kind: str, message: str, *, until_ms: int | None = None) -> Outcome:
    return replace(outcome, phase=AttemptPhase.FAILED, error_type=kind, message=message, until_ms=until_ms)
