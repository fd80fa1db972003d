"""Money that an attempt sets aside before it starts.

Knows what tasks say, and what a run expects of its agents. Must not know what anything has cost: that is in the state.
"""

from budwood._core.model import AgentTerms, Reviewed, Reviewer, RunSettings, TaskSpec, Usage


def reserve_of(settings: RunSettings, spec: TaskSpec) -> float:
    """Return the money that an attempt sets aside: what its task says, else the most that one of its agents may cost,
    and its reviewer.

    Which of them is asked must not matter: it depends on the time.
    """
    if spec.reserve_usd or not spec.agent:
        return spec.reserve_usd
    reviewer = spec.reviewer
    review = expected_usd(settings, reviewer.agent, reviewer.model) if isinstance(reviewer, Reviewer) else None
    return max(expected_usd(settings, agent, spec.model) or 0.0 for agent in spec.agent) + (review or 0.0)


def expected_usd(settings: RunSettings, agent: str, model: str | None) -> float | None:
    """Return what it will probably cost to ask an agent once; None if nobody knows."""
    terms = settings.agents.get(agent)
    return None if terms is None else terms.expected_usd.get(model_of(terms, model))


def is_free(terms: AgentTerms) -> bool:
    """Say whether asking an agent costs nothing but what it tells: a file of steps has nobody to be paid."""
    return terms.config.get("agent") == "script"


def is_untold(settings: RunSettings, usage: Usage, agent: str, *, reserved: float) -> bool:
    """Say whether nobody knows what an attempt cost: what is no agent's, and reserved nothing, costs nothing."""
    terms = settings.agents.get(agent)
    is_paid = bool(agent) and (terms is None or not is_free(terms))
    return usage.cost_usd is None and (is_paid or reserved > 0)


def booked_usd(usage: Usage, reviewed: Reviewed | None, *, reserved: float) -> float:
    """Return what an attempt counts as: what it says, else what it set aside, and what is known of its review."""
    if usage.cost_usd is not None:
        return usage.cost_usd
    return reserved + (0.0 if reviewed is None else reviewed.usage.cost_usd or 0.0)


def model_of(terms: AgentTerms, asked: str | None) -> str:
    """Name the model that an agent is told to use; "" if it takes its own."""
    return asked or str(terms.config.get("model") or "")
