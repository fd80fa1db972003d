"""What is allowed in a plan and yet probably not meant.

Knows plans, graphs and run settings. Must not refuse anything: `build`, `read_plan` and `refuse_impossible` do that.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from budwood._core.graph import Graph, widths
from budwood._core.model import RunSettings
from budwood.plans.lines import MOST_TOUCHING, overlaps, unordered
from budwood.plans.plan import Plan
from budwood.settings import Machine

LONG_LANE = 50
AGENT_BYTES = 1_000_000_000
"""What an agent may take; the larger ones do."""
AGENTS_PER_CORE = 2
_SHOWN = 5


def warnings(
    plan: Plan, graph: Graph, settings: RunSettings, *, machine: Machine | None = None, slots_given: bool = True
) -> list[str]:
    """List what a careful reader would ask about, one sentence each.

    That a machine has more cores than a plan is wide is nobody's mistake: `slots_given` says that somebody chose.
    """
    return [
        *_lanes(plan),
        *(_slots(graph, settings) if slots_given else ()),
        *(() if machine is None else _agents(plan, settings, machine)),
        *_touches(plan, graph),
        *_orders(plan, graph),
        *_dropped(graph),
        *_groups(plan, settings),
        *_unreserved(plan, settings),
        *_nothing_to_do(plan),
        *_nobody(plan),
    ]


def _lanes(plan: Plan) -> Iterator[str]:
    sizes = Counter(str(task.lane) for task in plan.tasks if task.lane is not None)
    for lane in plan.lanes:
        size = sizes[str(lane.id)]
        if size > LONG_LANE:
            yield f"lane {str(lane.id)!r} has {size} tasks, one after another; beyond {LONG_LANE}, split it"
        if size == 0:
            yield f"lane {str(lane.id)!r} has no tasks"


def _slots(graph: Graph, settings: RunSettings) -> Iterator[str]:
    widest = max(widths(graph), default=0)
    if 0 < widest < settings.slots:
        yield f"{settings.slots} slots, but the widest batch has {_tasks(widest)}: more slots than that stay idle"


def _agents(plan: Plan, settings: RunSettings, machine: Machine) -> Iterator[str]:
    at_once = min(settings.slots, sum(bool(task.agent) for task in plan.tasks))
    if at_once > machine.cores * AGENTS_PER_CORE:
        yield (
            f"{at_once} agents at once on {machine.cores} cores: beyond {AGENTS_PER_CORE} for each core "
            "they wait for each other"
        )
    room = None if machine.memory_bytes is None else machine.memory_bytes // AGENT_BYTES
    if room is not None and at_once > max(room, 1):
        free = f"{(machine.memory_bytes or 0) / 1e9:.1f} GB of memory are free"
        yield f"{at_once} agents at once, and {free}: each takes 0.5 to 1 GB, so at most {max(room, 1)} are safe"


def _touches(plan: Plan, graph: Graph) -> Iterator[str]:
    yield from _first(
        [
            f"tasks {str(one.id)!r} ({ours}) and {str(other.id)!r} ({theirs}) may change the same files, "
            "and neither comes after the other: what they make may not fit together"
            for one, other, ours, theirs in overlaps(plan.tasks, graph)
        ],
        "pairs of tasks that may change the same files",
    )
    touching = sum(bool(task.touches) for task in plan.tasks)
    if touching > MOST_TOUCHING:
        yield f"{touching} tasks have touches, and only the first {MOST_TOUCHING} were compared"


def _orders(plan: Plan, graph: Graph) -> Iterator[str]:
    yield from _first(
        [
            f"tasks {str(one.id)!r} and {str(other.id)!r} of lane {str(one.lane)!r} do not come after each other: "
            "the first to be ready goes first, so another run may end with other files"
            for one, other in unordered(plan.tasks, graph)
        ],
        "lanes with such tasks",
    )


def _first(found: Sequence[str], what: str) -> Iterator[str]:
    """Give the first few of many."""
    yield from found[:_SHOWN]
    if len(found) > _SHOWN:
        yield f"and {len(found) - _SHOWN} more {what}"


def _tasks(count: int) -> str:
    return f"{count} task" if count == 1 else f"{count} tasks"


def _dropped(graph: Graph) -> Iterator[str]:
    for task, dependency in graph.dropped:
        one, other = str(graph.ids[task]), str(graph.ids[dependency])
        yield f"task {one!r} prefers to come after {other!r}, which would close a circle: that wish is dropped"


def _groups(plan: Plan, settings: RunSettings) -> Iterator[str]:
    used = {task.group for task in plan.tasks}
    for name in settings.groups if plan.tasks else ():  # a strategy says only while it runs which group a task is in
        if name not in used:
            yield f"groups has a limit for {name!r}, but no task is in that group"


def _unreserved(plan: Plan, settings: RunSettings) -> Iterator[str]:
    # Attempts of agents reserve what earlier ones have cost.
    if settings.budget_usd is not None and not any(task.reserve_usd or task.agent for task in plan.tasks):
        yield "budget_usd is set and no task reserves money: an attempt that does not report its cost counts as $0"
    if settings.budget_tokens is not None and not any(task.reserve_tokens for task in plan.tasks):
        yield "budget_tokens is set and no task reserves tokens: an attempt that does not report its use counts as 0"


def _nothing_to_do(plan: Plan) -> Iterator[str]:
    empty = [str(t.id) for t in plan.tasks if t.run is None and t.function is None and not t.prompt]
    if empty:
        yield f"neither run, function nor prompt, so nothing to do: {_named(empty)}"


def _nobody(plan: Plan) -> Iterator[str]:
    left = [str(t.id) for t in plan.tasks if t.run is None and t.function is None and t.prompt and not t.agent]
    if left:
        yield f"a prompt and no agent, so it must be named when this is run (--agent NAME): {_named(left)}"


def _named(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - _SHOWN} more" if len(ids) > _SHOWN else ""
    return ", ".join(map(repr, ids[:_SHOWN])) + more
