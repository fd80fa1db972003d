"""What is allowed in a plan and yet probably not meant.

Knows plans, graphs and run settings. Must not refuse anything: `build`, `read_plan` and `refuse_impossible` do that.
"""

from collections import Counter
from collections.abc import Iterator

from budwood._core.graph import Graph, widths
from budwood._core.model import RunSettings
from budwood.plans.plan import Plan

LONG_LANE = 50
_SHOWN = 5


def warnings(plan: Plan, graph: Graph, settings: RunSettings) -> list[str]:
    """List what a careful reader would ask about, one sentence each."""
    return [
        *_lanes(plan),
        *_slots(graph, settings),
        *_dropped(graph),
        *_groups(plan, settings),
        *_unreserved(plan, settings),
        *_nothing_to_do(plan),
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


def _tasks(count: int) -> str:
    return f"{count} task" if count == 1 else f"{count} tasks"


def _dropped(graph: Graph) -> Iterator[str]:
    for task, dependency in graph.dropped:
        one, other = str(graph.ids[task]), str(graph.ids[dependency])
        yield f"task {one!r} prefers to come after {other!r}, which would close a circle: that wish is dropped"


def _groups(plan: Plan, settings: RunSettings) -> Iterator[str]:
    used = {task.group for task in plan.tasks}
    for name in settings.groups:
        if name not in used:
            yield f"groups has a limit for {name!r}, but no task is in that group"


def _unreserved(plan: Plan, settings: RunSettings) -> Iterator[str]:
    if settings.budget_usd is not None and not any(task.reserve_usd for task in plan.tasks):
        yield "budget_usd is set and no task reserves money: an attempt that does not report its cost counts as $0"
    if settings.budget_tokens is not None and not any(task.reserve_tokens for task in plan.tasks):
        yield "budget_tokens is set and no task reserves tokens: an attempt that does not report its use counts as 0"


def _nothing_to_do(plan: Plan) -> Iterator[str]:
    empty = [str(t.id) for t in plan.tasks if t.run is None and t.function is None and not t.prompt]
    if empty:
        named = ", ".join(map(repr, empty[:_SHOWN])) + (
            f" and {len(empty) - _SHOWN} more" if len(empty) > _SHOWN else ""
        )
        yield f"neither run, function nor prompt, so nothing to do: {named}"
