"""Edges between numbers: turned round, and put in layers.

Knows lists of ints. Must not know what the numbers stand for. Nothing recurses: a chain may be a million long.
"""

from collections.abc import Sequence

Edges = Sequence[Sequence[int]]
"""For each number the numbers that it depends on."""

NOTHING: list[int] = []
"""The edges of all that have none: one list, never changed; in a large graph, most of what lists would take."""
_NEW, _BEGUN = -2, -1
"""In place of a depth that is not known: nobody has looked, or what it depends on is being looked at."""


def dependants(edges: Edges) -> list[list[int]]:
    """Turn the edges round: for each number the numbers that depend on it, ascending."""
    turned = [NOTHING] * len(edges)
    for number, given in enumerate(edges):
        for dependency in given:
            link(turned, dependency, number)
    return turned


def link(edges: list[list[int]], number: int, other: int) -> None:
    """Add an edge behind those that a number has."""
    if edges[number]:
        edges[number].append(other)
    else:
        edges[number] = [other]


def depths(edges: Edges) -> list[int] | None:
    """Say on how many layers each number stands, 0 if it depends on nothing; None if there is a cycle.

    Depth first, so that edges need not be turned round: in a large graph whose numbers are in no order, that and
    counting what is missing would take longer than all the rest.
    """
    depth = [_NEW] * len(edges)
    for number, given in enumerate(edges):
        if depth[number] >= 0:
            continue
        deepest = -1
        for dependency in given:
            there = depth[dependency]
            if there > deepest:
                deepest = there
            elif there < 0:
                if not _dive(number, edges, depth):
                    return None
                break
        else:
            depth[number] = deepest + 1
    return depth


def _dive(root: int, edges: Edges, depth: list[int]) -> bool:
    """Find the depth of a number and of all that it stands on; return False when that leads back to itself."""
    stack = [root]
    while stack:
        number = stack[-1]
        if depth[number] >= 0:
            stack.pop()
            continue
        deepest = -1
        more = False
        for dependency in edges[number]:
            there = depth[dependency]
            if there > deepest:
                deepest = there
            elif there == _NEW:
                stack.append(dependency)
                more = True
            elif there == _BEGUN:  # it waits for what lies above it on the stack, which is where we are
                return False
        if more:
            depth[number] = _BEGUN
        else:
            depth[number] = deepest + 1
            stack.pop()
    return True


def layers(depth: Sequence[int]) -> list[list[int]]:
    """Group the numbers by their depth; in each group they ascend."""
    grouped: list[list[int]] = [[] for _ in range(max(depth, default=-1) + 1)]
    for number, level in enumerate(depth):
        grouped[level].append(number)
    return grouped
