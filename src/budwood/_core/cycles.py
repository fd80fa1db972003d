"""Circular dependencies: found, and said in the words of whoever wrote them.

Knows lists of numbers and the ids they stand for. Must not know tasks, lanes or files. Nothing recurses: a chain may be
a million long.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from itertools import islice

from budwood._core.edges import Edges
from budwood._core.model import TaskId

_SHOWN_IDS = 20
_SHOWN_CYCLES = 10


def describe(edges: Edges, ids: Sequence[TaskId]) -> str:
    """Name one cycle per strongly connected component, each in depends-on direction from its smallest id."""
    groups = [group for group in components(edges) if len(group) > 1]
    groups.sort(key=lambda group: min(by_id(ids[n]) for n in group))
    told = [_told([ids[n] for n in _cycle(edges, group, ids)]) for group in groups[:_SHOWN_CYCLES]]
    if len(groups) > _SHOWN_CYCLES:
        told.append(f"and {len(groups) - _SHOWN_CYCLES} more")
    return "Circular dependencies detected: " + "; ".join(told)


def by_id(name: TaskId) -> tuple[bool, int, str]:
    """Sort numbers by size before text by letters."""
    return (False, name, "") if isinstance(name, int) else (True, 0, name)


def _told(cycle: list[TaskId]) -> str:
    if len(cycle) <= _SHOWN_IDS:
        return " -> ".join(map(str, cycle))
    head, tail = cycle[: _SHOWN_IDS - 2], cycle[-2:]
    left_out = len(cycle) - _SHOWN_IDS
    return " -> ".join([*map(str, head), f"({left_out} more)", *map(str, tail)])


def _cycle(edges: Edges, group: list[int], ids: Sequence[TaskId]) -> list[int]:
    """Find the shortest way from the smallest id of a component back to itself."""
    inside = set(group)
    start = min(group, key=lambda n: by_id(ids[n]))
    came_from = {start: start}
    queue = deque([start])
    while queue:
        here = queue.popleft()
        for there in edges[here]:
            if there == start:
                return [*_way_back(came_from, here), start]
            if there in inside and there not in came_from:
                came_from[there] = here
                queue.append(there)
    raise AssertionError("a component of two or more has a way back to each of its members")


def _way_back(came_from: dict[int, int], last: int) -> list[int]:
    way = [last]
    while came_from[way[-1]] != way[-1]:
        way.append(came_from[way[-1]])
    return way[::-1]


def components(edges: Edges) -> Iterator[list[int]]:
    """Yield the strongly connected components (Tarjan), with a list in place of the call stack."""
    index = [-1] * len(edges)
    low = [0] * len(edges)
    waiting: list[int] = []
    on_stack = bytearray(len(edges))
    count = 0
    for root in range(len(edges)):
        if index[root] >= 0:
            continue
        work = [(root, iter(edges[root]))]
        while work:
            node, rest = work[-1]
            if index[node] < 0:
                index[node] = low[node] = count
                count += 1
                waiting.append(node)
                on_stack[node] = 1
            for there in rest:
                if index[there] < 0:
                    work.append((there, iter(edges[there])))
                    break
                if on_stack[there]:
                    low[node] = min(low[node], index[there])
            else:
                work.pop()
                if work:
                    above = work[-1][0]
                    low[above] = min(low[above], low[node])
                if low[node] == index[node]:
                    yield _popped(waiting, on_stack, down_to=node)


def _popped(waiting: list[int], on_stack: bytearray, *, down_to: int) -> list[int]:
    start = len(waiting) - 1 - next(i for i, node in enumerate(reversed(waiting)) if node == down_to)
    group = list(islice(waiting, start, None))
    del waiting[start:]
    for node in group:
        on_stack[node] = 0
    return group
