"""Edges between numbers: packed, turned round, and put in layers.

Knows lists of ints. Must not know what the numbers stand for. Nothing recurses: a chain may be a million long.
"""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, pairwise
from typing import Protocol


class Edges(Protocol):
    """For each number the numbers that it depends on."""

    def __len__(self) -> int: ...
    def __getitem__(self, number: int, /) -> Sequence[int]: ...
    def __iter__(self) -> Iterator[Sequence[int]]: ...


@dataclass(frozen=True, slots=True)
class Packed:
    """Edges in two arrays: those of all numbers one behind the other, and where those of each begin.

    A graph of a million is a few megabytes so, and a list for each number a hundred or two: making them, and waiting
    for memory while they are followed in no order, takes longer than following them.
    """

    flat: "array[int]"
    starts: "array[int]"
    """One more than there are numbers: where the last one's end."""

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, number: int, /) -> list[int]:
        return self.flat[self.starts[number] : self.starts[number + 1]].tolist()

    def __iter__(self) -> Iterator[list[int]]:
        for begin, end in pairwise(self.starts):
            yield self.flat[begin:end].tolist()

    def lists(self) -> list[list[int]]:
        """Give each number a list of its own, which may be changed unless it is empty."""
        return [given or NOTHING for given in self]

    def once(self, numbers: Iterable[int]) -> "Packed":
        """Let those of these numbers, which ascend, that have an edge twice have it once, where it stands first."""
        flat, lengths, copied = array("i"), [end - begin for begin, end in pairwise(self.starts)], 0
        for number in numbers:
            kept = dict.fromkeys(self[number])
            flat += self.flat[copied : self.starts[number]]
            flat.extend(kept)
            lengths[number], copied = len(kept), self.starts[number + 1]
        return Packed(flat + self.flat[copied:], offsets(lengths))


def offsets(lengths: Iterable[int]) -> "array[int]":
    """Say where the edges of each number begin, if it has so many."""
    return array("i", accumulate(lengths, initial=0))


def pack(edges: Edges) -> Packed:
    """Pack edges that may be lists."""
    if isinstance(edges, Packed):
        return edges
    return Packed(array("i", chain.from_iterable(edges)), offsets(map(len, edges)))


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


def depths(edges: Edges) -> "array[int] | None":
    """Say on how many layers each number stands, 0 if it depends on nothing; None if there is a cycle.

    Depth first, so that edges need not be turned round: in a large graph whose numbers are in no order, that and
    counting what is missing would take longer than all the rest.
    """
    depth = array("i", [_NEW]) * len(edges)
    packed = pack(edges)
    flat, starts = packed.flat, packed.starts
    for number in range(len(edges)):
        if depth[number] >= 0:
            continue
        deepest = -1
        for dependency in flat[starts[number] : starts[number + 1]]:
            there = depth[dependency]
            if there > deepest:
                deepest = there
            elif there < 0:
                if not _dive(number, packed, depth):
                    return None
                break
        else:
            depth[number] = deepest + 1
    return depth


def _dive(root: int, edges: Packed, depth: "array[int]") -> bool:
    """Find the depth of a number and of all that it stands on; return False when that leads back to itself."""
    flat, starts = edges.flat, edges.starts
    # How we came here: numbers, what of their edges is left to follow, and the deepest that was found there.
    way: list[tuple[int, Iterator[int], int]] = []
    number, deepest = root, -1
    rest = iter(flat[starts[number] : starts[number + 1]])
    depth[number] = _BEGUN
    while True:
        for dependency in rest:
            there = depth[dependency]
            if there > deepest:
                deepest = there
            elif there == _NEW:
                way.append((number, rest, deepest))
                number, deepest = dependency, -1
                rest = iter(flat[starts[number] : starts[number + 1]])
                depth[number] = _BEGUN
                break
            elif there == _BEGUN:  # it is on our way, so it waits for where we are
                return False
        else:
            depth[number] = there = deepest + 1
            if not way:
                return True
            number, rest, deepest = way.pop()
            deepest = there if there > deepest else deepest


def layers(depth: Sequence[int]) -> list[list[int]]:
    """Group the numbers by their depth; in each group they ascend."""
    grouped: list[list[int]] = [[] for _ in range(max(depth, default=-1) + 1)]
    for number, level in enumerate(depth):
        grouped[level].append(number)
    return grouped
