"""Which soft edges can be kept without closing a cycle.

Knows lists of numbers. Must not know tasks. An edge that agrees with the order found so far costs nothing; one that
does not moves only the numbers between its two ends (Pearce and Kelly, "A dynamic topological sort algorithm for
directed acyclic graphs", 2006).
"""

from collections.abc import Sequence
from heapq import heapify, heappop, heappush

from budwood._core.cycles import Edges


def keep(hard: Edges, soft: Edges) -> tuple[list[list[int]], list[tuple[int, int]]]:
    """Return the soft edges that are kept and those dropped, taken in task order; the hard ones have no cycle."""
    nothing: list[int] = []
    if all(not given or max(given) < task for edges in (hard, soft) for task, given in enumerate(edges)):
        return [list(given) if given else nothing for given in soft], []
    kept: list[list[int]] = []
    dropped: list[tuple[int, int]] = []
    order = _Order(hard)
    for task, given in enumerate(soft):
        mine = [dependency for dependency in given if order.allows(task, dependency)]
        dropped.extend((task, dependency) for dependency in given if dependency not in mine)
        kept.append(mine or nothing)
    return kept, dropped


class _Order:
    """A topological order that edges can be added to."""

    def __init__(self, hard: Edges) -> None:
        self._before: list[list[int]] = [list(given) for given in hard]
        self._after: list[list[int]] = [[] for _ in hard]
        for task, given in enumerate(hard):
            for dependency in given:
                self._after[dependency].append(task)
        self._place = _places(self._before, self._after)

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


def _places(before: Edges, after: Edges) -> list[int]:
    """Number the nodes in a topological order, the smallest that can come first."""
    missing = [len(given) for given in before]
    ready = [node for node, count in enumerate(missing) if count == 0]
    heapify(ready)
    place = [0] * len(missing)
    for position in range(len(missing)):
        node = heappop(ready)
        place[node] = position
        for there in after[node]:
            missing[there] -= 1
            if missing[there] == 0:
                heappush(ready, there)
    return place
