"""What attempts of agents will probably cost: the median of what earlier ones in the same store did.

Knows stores and events. Must not decide whether that is too much.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

import msgspec
from msgspec import Struct

from budwood._core.model import AgentTerms, Reviewer, RunSettings, TaskSpec
from budwood._core.reserve import is_free, model_of
from budwood.project.costs import attempt_costs
from budwood.project.untold import LARGEST
from budwood.stores import Store

LOOKED_AT = 10
"""Runs that are read, the newest that cost something."""


class Expected(Struct, frozen=True, kw_only=True):
    """What one attempt of an agent with a model will probably cost, and how many earlier ones say so."""

    usd: float
    attempts: int


Expectations = Mapping[tuple[str, str], Expected]
"""By agent and model; "" is the agent's own model."""


class Estimate(Struct, frozen=True, kw_only=True):
    """What tasks will probably cost, if each takes one attempt."""

    is_paid: bool
    """Whether anything may have to be paid for."""
    usd: float = 0.0
    tasks: int = 0
    """Those that may cost money and are known before the start."""
    unknown: int = 0
    """Tasks of which nobody knows; they are in no sum."""
    rests_on: dict[str, int] = {}
    """By agent and model in words, how many earlier attempts."""


def expectations(store: Store, agents: Iterable[str]) -> Expectations:
    """Look what attempts of these agents cost before."""
    from statistics import median  # most runs have nothing to estimate, and start sooner without it

    wanted, seen = set(agents), defaultdict[tuple[str, str], list[float]](list)
    paid = [run for run in store.runs() if run.cost_usd > 0 and run.attempts <= LARGEST]
    for run in paid[-LOOKED_AT:] if wanted else ():
        for one in attempt_costs(store.read(run.id)):
            # What a subscription or an untold cost counts as says nothing about a price.
            if one.agent in wanted and not one.cost.unknown and one.cost.list_usd is None:
                seen[one.agent, one.model].append(one.cost.cost_usd)
    return {each: Expected(usd=median(costs), attempts=len(costs)) for each, costs in seen.items()}


def with_expectations(settings: RunSettings, found: Expectations) -> RunSettings:
    """Let attempts reserve what they will probably cost, where their tasks do not say.

    A subscription costs nothing, and a script no more than its steps say.
    """
    agents = {
        name: msgspec.structs.replace(
            terms, expected_usd={model: each.usd for (agent, model), each in found.items() if agent == name}
        )
        for name, terms in settings.agents.items()
        if not (terms.subscription or is_free(terms))
    }
    return msgspec.structs.replace(settings, agents=settings.agents | agents)


def estimate(settings: RunSettings, tasks: Iterable[TaskSpec], found: Expectations) -> Estimate:
    """Add up what tasks will probably cost that could cost money: each by the first of its agents."""
    usd, number, unknown, rests_on = 0.0, 0, 0, dict[str, int]()
    for task in tasks:
        if not costs_money(settings, task):
            continue
        number += 1
        asked = list(_asked(settings, task))
        rests_on |= {
            f"{name} {model}".rstrip(): found[name, model].attempts for name, model in asked if (name, model) in found
        }
        known = sum(found[each].usd for each in asked if each in found)
        is_known = all(each in found for each in asked)
        unknown += not is_known and not task.reserve_usd
        usd += known if is_known else max(known, task.reserve_usd)
    return Estimate(is_paid=number > 0, usd=usd, tasks=number, unknown=unknown, rests_on=rests_on)


def estimate_unknown(settings: RunSettings) -> Estimate:
    """Say of tasks that are not known yet whether they may cost money."""
    return Estimate(is_paid=any(_is_paid(terms, reserves=False) for terms in settings.agents.values()))


def costs_money(settings: RunSettings, task: TaskSpec) -> bool:
    """Say whether an attempt at a task may have to be paid for: one agent that is no subscription is enough."""
    is_asked = bool(task.agent)
    return is_asked and any(_is_paid(settings.agents[name], reserves=task.reserve_usd > 0) for name in task.asks)


def _asked(settings: RunSettings, task: TaskSpec) -> Iterator[tuple[str, str]]:
    """Name whom an attempt asks, and with which models: the first of its agents, and a reviewer that is paid."""
    yield task.agent[0], model_of(settings.agents[task.agent[0]], task.model)
    review = task.reviewer
    if isinstance(review, Reviewer) and _is_paid(settings.agents[review.agent], reserves=False):
        yield review.agent, model_of(settings.agents[review.agent], review.model)


def _is_paid(terms: AgentTerms, *, reserves: bool) -> bool:
    """A script costs nothing whatever it prints; of a command nobody knows, unless its task sets money aside."""
    is_command = terms.config.get("agent") == "command"
    return not (terms.subscription or is_free(terms)) and (reserves or not is_command)
