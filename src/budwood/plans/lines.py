"""Lines of history that may differ from run to run, or meet in the same files.

Knows graphs and patterns. Each look is bounded: a plan may be large, and nothing here is worth a late start.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise

from budwood._core.graph import Graph, batches
from budwood._core.model import TaskSpec
from budwood.plans.overlap import overlap

MOST_TOUCHING = 300
"""Tasks with `touches` that are compared, each with each."""
_MOST_STEPS = 10_000


def overlaps(tasks: Sequence[TaskSpec], graph: Graph) -> Iterator[tuple[TaskSpec, TaskSpec, str, str]]:
    """Find tasks of different lanes that may change the same files and do not come after each other."""
    touching = [number for number, task in enumerate(tasks) if task.touches][:MOST_TOUCHING]
    if len(touching) < 2:
        return
    before = _before(graph, touching)
    for (i, one), (j, other) in combinations(enumerate(touching), 2):
        first, second = tasks[one], tasks[other]
        in_one_lane = first.lane is not None and str(first.lane) == str(second.lane)
        if in_one_lane or before[one] >> j & 1 or before[other] >> i & 1:
            continue
        met = next(((a, b) for a in first.touches for b in second.touches if overlap(a, b)), None)
        if met is not None:
            yield first, second, *met


def _before(graph: Graph, wanted: Sequence[int]) -> list[int]:
    """Return for each task which of the wanted ones come before it: one bit for each, at its place."""
    bits = {number: 1 << place for place, number in enumerate(wanted)}
    before = [0] * len(graph.hard)
    for batch in batches(graph):
        for number in batch:
            for dependency in graph.hard[number]:
                before[number] |= before[dependency] | bits.get(dependency, 0)
    return before


def unordered(tasks: Sequence[TaskSpec], graph: Graph) -> Iterator[tuple[TaskSpec, TaskSpec]]:
    """Find for each lane of agents two tasks, if there are, that do not come after each other."""
    lanes = defaultdict[str, list[int]](list)
    for number, task in enumerate(tasks):
        if task.lane is not None and task.agent:
            lanes[str(task.lane)].append(number)
    if not any(numbers[1:] for numbers in lanes.values()):
        return
    depth = {number: at for at, batch in enumerate(batches(graph)) for number in batch}
    for numbers in lanes.values():
        numbers.sort(key=lambda number: (depth[number], number))
        loose = next((pair for pair in pairwise(numbers) if not _comes_after(graph, *pair, depth=depth)), None)
        if loose is not None:
            yield tasks[loose[0]], tasks[loose[1]]


def _comes_after(graph: Graph, earlier: int, later: int, *, depth: dict[int, int]) -> bool:
    """Say whether there is a way from one to the other; one that takes too long to find is believed in."""
    ways, seen = [later], {later}
    while ways:
        for dependency in graph.hard[ways.pop()]:
            if dependency == earlier or len(seen) > _MOST_STEPS:
                return True
            if depth[dependency] > depth[earlier] and dependency not in seen:
                seen.add(dependency)
                ways.append(dependency)
    return False
