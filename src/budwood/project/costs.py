"""What a run has cost, read from its events: by task, lane and agent.

Knows events and how reservations are made, so that its sums are those that the budget counts. Must not know stores.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby

from msgspec import Struct, structs

from budwood._core.events import (
    AttemptEnded,
    AttemptQueued,
    ErrandAdded,
    PlanRevised,
    Recorded,
    RunCreated,
    SettingsChanged,
    TaskCreated,
    TasksAdded,
    TaskUpdated,
)
from budwood._core.model import Reviewed, RunSettings, TaskId, TaskSpec, Told
from budwood._core.reserve import booked_usd, is_untold, model_of, reserve_of


class Cost(Struct, frozen=True, kw_only=True):
    """What some attempts took together; `cost_usd` is what the budget counts."""

    attempts: int = 0
    cost_usd: float = 0.0
    unknown: int = 0
    """Attempts that did not say what they cost, of an agent that is paid or with a reservation, which they count as."""
    list_usd: float | None = None
    """What subscriptions would have cost by the price list; no money, and in no sum of it."""
    tokens: int = 0
    wall_s: float = 0.0

    def plus(self, other: "Cost") -> "Cost":
        """Add two up."""
        lists = [usd for usd in (self.list_usd, other.list_usd) if usd is not None]
        return Cost(
            attempts=self.attempts + other.attempts,
            cost_usd=self.cost_usd + other.cost_usd,
            unknown=self.unknown + other.unknown,
            list_usd=sum(lists) if lists else None,
            tokens=self.tokens + other.tokens,
            wall_s=self.wall_s + other.wall_s,
        )


class AttemptCost(Struct, frozen=True, kw_only=True):
    """One attempt: whose it was, and what it took."""

    task: TaskId
    lane: TaskId | None
    agent: str
    """Empty where a task is a command or a call."""
    model: str
    """Empty where the agent took its own."""
    cost: Cost


Key = Callable[[AttemptCost], tuple[TaskId, ...]]
"""By what attempts are put together."""


def attempt_costs(events: Iterable[Recorded]) -> list[AttemptCost]:
    """List the attempts that have ended, in task order."""
    specs = dict[str, TaskSpec]()
    found = list(_as_they_ended(events, specs))
    order = {task: number for number, task in enumerate(specs)}
    return sorted(found, key=lambda one: order[str(one.task)])


def _as_they_ended(events: Iterable[Recorded], specs: dict[str, TaskSpec]) -> Iterator[AttemptCost]:
    """Give attempts as they ended; fills in the tasks as they were when they came first, and their newest form."""
    settings = RunSettings()
    queued: dict[str, tuple[str, TaskSpec, float]] = {}
    for recorded in events:
        match recorded.event:
            case RunCreated(settings=given) | SettingsChanged(settings=given):
                settings = given
            case TasksAdded(tasks=tasks):
                specs.update((str(task.id), task) for task in tasks)
            case ErrandAdded(task=spec):
                specs[str(spec.id)] = spec
            case PlanRevised(added=added, changed=changed):
                specs.update((str(task.id), task) for task in (*added, *changed))
            case TaskCreated(task=spec) | TaskUpdated(task=spec):
                specs[str(spec.id)] = spec
            case AttemptQueued(task=task, agent=agent):
                spec = specs[str(task)]
                queued[str(task)] = agent, spec, reserve_of(settings, spec)
            case AttemptEnded(task=task) as ended:
                one = _attempt_cost(ended, settings, *queued.pop(str(task)))
                yield from (one,) if ended.reviewed is None else _split(one, ended.reviewed, settings, ended.told)


def _attempt_cost(
    ended: AttemptEnded, settings: RunSettings, agent: str, spec: TaskSpec, reserved: float
) -> AttemptCost:
    usage, told = ended.usage, ended.told
    terms = settings.agents.get(agent)
    asked = spec.model if told is None else told.model or spec.model
    return AttemptCost(
        task=ended.task,
        lane=spec.lane,
        agent=agent,
        model=(asked or "") if terms is None else model_of(terms, asked),
        cost=Cost(
            attempts=1,
            cost_usd=booked_usd(usage, ended.reviewed, reserved=reserved),
            unknown=int(is_untold(settings, usage, agent, reserved=reserved)),
            list_usd=None if told is None else told.list_usd,
            tokens=spec.reserve_tokens if usage.tokens is None else usage.tokens,
            wall_s=ended.measure.wall_s,
        ),
    )


def _split(one: AttemptCost, reviewed: Reviewed, settings: RunSettings, told: Told | None) -> Iterator[AttemptCost]:
    """Tell what an attempt's review took from the rest of it: another agent made it, maybe at another price.

    Where no agent worked, there was nothing but a review.
    """
    usage, terms = reviewed.usage, settings.agents.get(reviewed.agent)
    review = Cost(
        cost_usd=usage.cost_usd or 0.0,
        unknown=0 if usage.cost_usd is not None else 1,
        list_usd=reviewed.list_usd,
        tokens=usage.tokens or 0,
        wall_s=reviewed.wall_s,
    )
    if told is None:
        review = structs.replace(review, attempts=1, wall_s=one.cost.wall_s)
    else:
        rest = structs.replace(
            one.cost,
            cost_usd=one.cost.cost_usd - review.cost_usd,
            tokens=max(0, one.cost.tokens - review.tokens),
            wall_s=max(0.0, one.cost.wall_s - review.wall_s),
        )
        yield structs.replace(one, cost=rest)
    model = (reviewed.model or "") if terms is None else model_of(terms, reviewed.model)
    yield structs.replace(one, agent=reviewed.agent, model=model, cost=review)


def untold(events: Iterable[Recorded]) -> Counter[TaskId]:
    """Count by task the attempts, and reviews of them, that did not say what they cost."""
    found = Counter[TaskId]()
    for one in attempt_costs(events):
        found[one.task] += one.cost.unknown
    return found


def add_up(costs: Iterable[Cost]) -> Cost:
    """Sum costs."""
    total = Cost()
    for cost in costs:
        total = total.plus(cost)
    return total


def by_task(one: AttemptCost) -> tuple[TaskId, ...]:
    """Put attempts together that one agent with one model made at one task."""
    return one.task, "" if one.lane is None else one.lane, one.agent, one.model


def by_lane(one: AttemptCost) -> tuple[TaskId, ...]:
    """Put the attempts of a lane together; a task without one is in none."""
    return ("" if one.lane is None else one.lane,)


def by_agent(one: AttemptCost) -> tuple[TaskId, ...]:
    """Put the attempts of an agent with one model together."""
    return one.agent, one.model


def grouped(attempts: Iterable[AttemptCost], key: Key) -> dict[tuple[TaskId, ...], Cost]:
    """Add attempts up by a key, in the order in which their keys came first."""
    known = list(attempts)
    order = {each: number for number, each in enumerate(dict.fromkeys(map(key, known)))}
    known.sort(key=lambda one: order[key(one)])
    return {each: add_up(one.cost for one in group) for each, group in groupby(known, key)}
