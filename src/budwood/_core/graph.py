"""The graph of a plan: checked once, then numbers only.

Knows what a task waits for. Must not know states, files or time. Everything is a plain list of ints, and nothing
recurses: a million tasks are put into batches in about half a second. The lists of a graph are to be read, not changed;
empty ones may be shared.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from budwood._core import wishes
from budwood._core.cycles import describe
from budwood._core.edges import Edges, dependants, order
from budwood._core.lanes import add_lane_edges
from budwood._core.model import LaneSpec, TaskId, TaskSpec
from budwood._core.suggest import did_you_mean
from budwood.errors import PlanError

__all__ = ["Graph", "batches", "build", "critical_path", "dependants", "order", "paths"]

BREAK_IT = "remove one of these dependencies, or make it prefer_after"


@dataclass(slots=True)
class Graph:
    """Who comes after whom, by number; numbers are task order."""

    ids: list[TaskId]
    hard: list[list[int]]
    soft: list[list[int]]
    dropped: list[tuple[int, int]] = field(default_factory=list)
    """Soft edges (task, dependency) that would have closed a cycle."""


def build(tasks: Sequence[TaskSpec], lanes: Sequence[LaneSpec]) -> Graph:
    """Check every id and edge, and number them; a plan that cannot be followed raises PlanError."""
    ids = [task.id for task in tasks]
    numbers = _numbered(ids, what="task")
    hard = _numbers_of([task.after for task in tasks], numbers, ids=ids, key="after")
    _refuse_self(hard, ids)
    add_lane_edges(hard, tasks, lanes, lane_numbers=_numbered([lane.id for lane in lanes], what="lane"))
    if len(order(hard)) < len(ids):
        raise PlanError(describe(hard, ids), hint=BREAK_IT)
    soft, dropped = _soft(tasks, hard, numbers=numbers, ids=ids)
    return Graph(ids, hard, soft, dropped)


def _numbered(ids: Sequence[TaskId], *, what: str) -> dict[str, int]:
    numbers = {str(name): number for number, name in enumerate(ids)}
    if len(numbers) < len(ids):
        twice = next(name for number, name in enumerate(ids) if numbers[str(name)] != number)
        places = [number for number, name in enumerate(ids, start=1) if str(name) == str(twice)]
        raise PlanError(
            f"{what} id {str(twice)!r} is used {len(places)} times: {what}s number {', '.join(map(str, places[:10]))}",
            hint='ids are compared as text, so 7 and "7" are the same; give each its own',
        )
    return numbers


def _numbers_of(
    named: Sequence[Sequence[TaskId]], numbers: dict[str, int], *, ids: Sequence[TaskId], key: str
) -> list[list[int]]:
    try:
        found = [[numbers[str(name)] for name in given] for given in named]
    except KeyError:
        task, missing = next(
            (n, str(name)) for n, given in enumerate(named) for name in given if str(name) not in numbers
        )
        raise PlanError(
            f"task {str(ids[task])!r} has {missing!r} in {key}, but no task is called that",
            hint=did_you_mean(missing, numbers),
        ) from None
    for task, given in enumerate(found):
        if len(given) > 1 and len(set(given)) < len(given):
            found[task] = list(dict.fromkeys(given))
    return found


def _refuse_self(hard: Edges, ids: Sequence[TaskId]) -> None:
    for number, given in enumerate(hard):
        if number in given:
            raise PlanError(f"task {str(ids[number])!r} comes after itself", hint="take its own id out of after")


def _soft(
    tasks: Sequence[TaskSpec], hard: Edges, *, numbers: dict[str, int], ids: Sequence[TaskId]
) -> tuple[list[list[int]], list[tuple[int, int]]]:
    if not any(task.prefer_after for task in tasks):
        return [[]] * len(ids), []
    wished = _numbers_of([task.prefer_after for task in tasks], numbers, ids=ids, key="prefer_after")
    # What is waited for anyway need not be wished for.
    return wishes.keep(hard, [[n for n in given if n not in hard[task]] for task, given in enumerate(wished)])


def batches(graph: Graph) -> list[list[int]]:
    """Group the tasks as Kahn's algorithm does: each batch depends only on those before it; numbers ascend."""
    hard = graph.hard
    depth = [0] * len(hard)
    for number in order(hard):
        deepest = -1
        for dependency in hard[number]:
            if depth[dependency] > deepest:  # noqa: PLR1730 - calling max takes twice as long
                deepest = depth[dependency]
        depth[number] = deepest + 1
    grouped: list[list[int]] = [[] for _ in range(max(depth, default=-1) + 1)]
    for number, level in enumerate(depth):
        grouped[level].append(number)
    return grouped


def paths(graph: Graph) -> list[int]:
    """Count, for each task, the tasks on the longest path from it to an end, itself included."""
    hard = graph.hard
    length = [1] * len(hard)
    for number in reversed(order(hard)):
        longer = length[number] + 1
        for dependency in hard[number]:
            if length[dependency] < longer:  # noqa: PLR1730 - calling max takes twice as long
                length[dependency] = longer
    return length


def critical_path(graph: Graph) -> list[int]:
    """Return one longest path from first to last; among equals the smallest numbers."""
    length = paths(graph)
    if not length:
        return []
    following: dict[int, int] = {}
    for number, given in enumerate(graph.hard):
        for dependency in given:
            if length[dependency] == length[number] + 1:
                following.setdefault(dependency, number)
    path = [length.index(max(length))]
    while path[-1] in following:
        path.append(following[path[-1]])
    return path
