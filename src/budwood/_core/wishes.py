"""Which soft edges can be kept without closing a cycle.

Knows lists of numbers. Must not know tasks. An edge that agrees with the order found so far costs nothing; one that
does not moves only the numbers between its two ends (Pearce and Kelly, "A dynamic topological sort algorithm for
directed acyclic graphs", 2006).
"""

from collections.abc import Sequence
from heapq import heappop, heappush

from budwood._core.edges import Edges, dependants


def keep(hard: Edges, soft: Edges) -> tuple[list[list[int]], list[tuple[int, int]]]:
    """Return the soft edges that are kept and those dropped, taken in task order; the hard ones have no cycle."""
    nothing: list[int] = []
    if all(not given or max(given) < task for edges in (hard, soft) for task, given in enumerate(edges)):
        return [list(given) if given else nothing for given in soft], []
    kept: list[list[int]] = []
    dropped: list[tuple[int, int]] = []
    order = _Order(hard, soft)
    for task, given in enumerate(soft):
        mine = [dependency for dependency in given if order.allows(task, dependency)]
        dropped.extend((task, dependency) for dependency in given if dependency not in mine)
        kept.append(mine or nothing)
    return kept, dropped


class _Order:
    """A topological order that edges can be added to."""

    def __init__(self, hard: Edges, soft: Edges) -> None:
        self._before: list[list[int]] = [list(given) for given in hard]
        self._after: list[list[int]] = dependants(hard)
        self._place = _places(hard, soft)

    def allows(self, task: int, dependency: int) -> bool:
        """Add the edge and return True, or return False and change nothing when it would close a cycle."""
        if task == dependency:
            return False
        low, high = self._place[task], self._place[dependency]
        if high > low:
            later = self._reached(task, self._after, low=low, high=high)
            if dependency in later:
                return False
            self._move(self._reached(dependency, self._before, low=low, high=high), later)
        self._before[task].append(dependency)
        self._after[dependency].append(task)
        return True

    def _reached(self, start: int, edges: Sequence[Sequence[int]], *, low: int, high: int) -> set[int]:
        found = {start}
        stack = [start]
        while stack:
            for there in edges[stack.pop()]:
                if there not in found and low <= self._place[there] <= high:
                    found.add(there)
                    stack.append(there)
        return found

    def _move(self, earlier: set[int], later: set[int]) -> None:
        place = self._place
        free = sorted(place[node] for node in earlier | later)
        wanted = [*sorted(earlier, key=place.__getitem__), *sorted(later, key=place.__getitem__)]
        for node, new in zip(wanted, free, strict=True):
            place[node] = new


def _places(hard: Edges, soft: Edges) -> list[int]:
    """Number the nodes in an order that keeps every hard edge and goes against few soft ones.

    What nothing holds back comes first; when all that could come next have an open wish, the smallest number does.
    """
    open_hard = [len(given) for given in hard]
    open_soft = [len(given) for given in soft]
    hard_after, soft_after = dependants(hard), dependants(soft)
    free = [node for node, count in enumerate(open_hard) if count == 0 == open_soft[node]]
    stuck = [node for node, count in enumerate(open_hard) if count == 0 < open_soft[node]]
    place = [-1] * len(open_hard)
    for position in range(len(place)):
        node = heappop(free or stuck)
        while place[node] >= 0:  # it was stuck, then free
            node = heappop(free or stuck)
        place[node] = position
        for waiting, missing in ((hard_after, open_hard), (soft_after, open_soft)):
            for there in waiting[node]:
                missing[there] -= 1
                if open_hard[there] == 0 and place[there] < 0:
                    heappush(stuck if open_soft[there] else free, there)
    return place
