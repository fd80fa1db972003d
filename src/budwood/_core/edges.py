"""Edges between numbers: turned round, and put in order.

Knows lists of ints. Must not know what the numbers stand for.
"""

from collections.abc import Sequence

Edges = Sequence[Sequence[int]]
"""For each number the numbers that it depends on."""


def dependants(edges: Edges) -> list[list[int]]:
    """Turn the edges round: for each number the numbers that depend on it, ascending."""
    turned: list[list[int]] = [[] for _ in edges]
    for number, given in enumerate(edges):
        for dependency in given:
            turned[dependency].append(number)
    return turned


def order(edges: Edges) -> Sequence[int]:
    """Return the numbers so that each comes after what it depends on; those on or behind a cycle are left out."""
    if all(not given or max(given) < number for number, given in enumerate(edges)):
        return range(len(edges))
    missing = [len(given) for given in edges]
    waiting = dependants(edges)
    ready = [number for number, count in enumerate(missing) if count == 0]
    for number in ready:  # grows while it is read
        for there in waiting[number]:
            missing[there] -= 1
            if missing[there] == 0:
                ready.append(there)
    return ready
