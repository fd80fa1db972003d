"""Money that an attempt sets aside before it starts.

Knows what tasks say, and what a run expects of its agents. Must not know what anything has cost: that is in the state.
"""

from budwood._core.model import AgentTerms, RunSettings, TaskSpec


def reserve_of(settings: RunSettings, spec: TaskSpec) -> float:
    """Return the money that an attempt sets aside: what its task says, else the most that one of its agents may cost.

    Which of them is asked must not matter: it depends on the time.
    """
    if spec.reserve_usd or not spec.agent:
        return spec.reserve_usd
    return max(expected_usd(settings, spec, agent) or 0.0 for agent in spec.agent)


def expected_usd(settings: RunSettings, spec: TaskSpec, agent: str) -> float | None:
    """Return what an attempt of an agent will probably cost; None if nobody knows."""
    terms = settings.agents.get(agent)
    return None if terms is None else terms.expected_usd.get(model_of(terms, spec.model))


def model_of(terms: AgentTerms, asked: str | None) -> str:
    """Name the model that an agent is told to use; "" if it takes its own."""
    return asked or str(terms.config.get("model") or "")
