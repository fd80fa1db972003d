"""The graph of a plan: checked once, then numbers only.

Knows what a task waits for. Must not know states, files or time. Everything is ints in lists and arrays, and nothing
recurses: a million tasks are put into batches in a second or two, whatever order they come in. The lists of a graph are
to be read, not changed; empty ones may be shared.
"""

from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from budwood._core import wishes
from budwood._core.cycles import describe
from budwood._core.edges import NOTHING, Edges, Packed, dependants, depths, layers, offsets, pack
from budwood._core.lanes import with_lane_edges
from budwood._core.model import LaneSpec, TaskId, TaskSpec
from budwood._core.suggest import did_you_mean
from budwood.errors import PlanError

__all__ = ["Graph", "batches", "build", "critical_path", "dependants", "paths", "widths"]

BREAK_IT = "remove one of these dependencies, or make it prefer_after"
_SPARSE = 4
"""Ids that are numbers below so many times their count are looked up in an array."""


@dataclass(slots=True)
class Graph:
    """Who comes after whom, by number; numbers are task order."""

    ids: list[TaskId]
    hard: Packed
    soft: list[list[int]]
    dropped: list[tuple[int, int]] = field(default_factory=list)
    """Soft edges (task, dependency) that would have closed a cycle."""
    depth: "array[int] | None" = None
    """In which batch each task is, once somebody wanted to know; the first is 0."""
    layers: list[list[int]] | None = None
    """Its batches, once somebody wanted them."""


def build(tasks: Sequence[TaskSpec], lanes: Sequence[LaneSpec]) -> Graph:
    """Check every id and edge, and number them; a plan that cannot be followed raises PlanError."""
    ids = [task.id for task in tasks]
    numbers = _numbered(ids, what="task")
    hard = _numbers_of([task.after for task in tasks], numbers, ids=ids, key="after")
    depth = depths(hard)
    if depth is None:
        _refuse_self(hard, ids)
    lane_numbers = _by_text(_numbered([lane.id for lane in lanes], what="lane"))
    all_hard = with_lane_edges(hard, tasks, lanes, lane_numbers=lane_numbers)
    if all_hard is not hard:
        depth = depths(all_hard)
    if depth is None:
        raise PlanError(describe(all_hard, ids), hint=BREAK_IT)
    soft, dropped = _soft(tasks, all_hard, numbers=numbers, ids=ids)
    return Graph(ids, all_hard, soft, dropped, depth)


def _numbered(ids: Sequence[TaskId], *, what: str) -> dict[TaskId, int]:
    """Number the ids, which are compared as text; where there are both kinds, the result has texts only."""
    kinds = set(map(type, ids))
    if len(kinds) > 1:
        ids = [str(name) for name in ids]
    numbers = dict(zip(ids if kinds == {int} else _side_by_side(ids), range(len(ids)), strict=True))
    if len(numbers) < len(ids):
        twice = next(name for number, name in enumerate(ids) if numbers[name] != number)
        places = [number for number, name in enumerate(ids, start=1) if name == twice]
        raise PlanError(
            f"{what} id {str(twice)!r} is used {len(places)} times: {what}s number {', '.join(map(str, places[:10]))}",
            hint='ids are compared as text, so 7 and "7" are the same; give each its own',
        )
    return numbers


def _side_by_side(ids: Sequence[TaskId]) -> Sequence[TaskId]:
    """Copy texts so that they lie in memory beside each other, and not each in the midst of all that its task says.

    Names are looked up in no order, and what that takes is waiting for memory.
    """
    copies = "\n".join(map(str, ids)).split("\n")
    return copies if len(copies) == len(ids) else ids  # one has a line break in it


def _by_text(numbers: Mapping[TaskId, int]) -> dict[str, int]:
    return {str(name): number for name, number in numbers.items()}


def _numbers_of(
    named: Sequence[Sequence[TaskId]], numbers: Mapping[TaskId, int], *, ids: Sequence[TaskId], key: str
) -> Packed:
    """Number what is named; what a task names twice counts once."""
    flat = _looked_up(named, numbers)
    if flat is None:  # unknown, or the same text as another kind: 7 for "7"
        return pack(_numbers_by_text(named, _by_text(numbers), ids=ids, key=key))
    found = Packed(flat, offsets(map(len, named)))
    twice = [task for task, given in enumerate(named) if len(given) > 1 and len(set(given)) < len(given)]
    return found.once(twice) if twice else found


def _looked_up(named: Sequence[Sequence[TaskId]], numbers: Mapping[TaskId, int]) -> "array[int] | None":
    """Look all names up at once; None if one is not found as it is written.

    In a graph of a million tasks in no order, waiting for memory is what takes the time; so ids that are numbers from a
    small range are not looked up in a dict.
    """
    most = _SPARSE * len(numbers)
    if all(type(name) is int and 0 <= name < most for name in numbers):
        return _looked_up_below(most, named, numbers)
    try:
        return array("i", map(numbers.__getitem__, chain.from_iterable(named)))
    except KeyError:
        return None


def _looked_up_below(
    most: int, named: Sequence[Sequence[TaskId]], numbers: Mapping[TaskId, int]
) -> "array[int] | None":
    places = array("i", [-1]) * most
    for name, number in numbers.items():
        places[int(name)] = number
    names = [name for name in chain.from_iterable(named) if isinstance(name, int) and 0 <= name < most]
    found = array("i", map(places.__getitem__, names))
    return None if -1 in found or len(found) < sum(map(len, named)) else found


def _numbers_by_text(
    named: Sequence[Sequence[TaskId]], numbers: Mapping[str, int], *, ids: Sequence[TaskId], key: str
) -> list[list[int]]:
    for task, given in enumerate(named):
        missing = next((str(name) for name in given if str(name) not in numbers), None)
        if missing is not None:
            raise PlanError(
                f"task {str(ids[task])!r} has {missing!r} in {key}, but no task is called that",
                hint=did_you_mean(missing, numbers),
            )
    return [list(dict.fromkeys(numbers[str(name)] for name in given)) for given in named]


def _refuse_self(hard: Edges, ids: Sequence[TaskId]) -> None:
    for number, given in enumerate(hard):
        if number in given:
            raise PlanError(f"task {str(ids[number])!r} comes after itself", hint="take its own id out of after")


def _soft(
    tasks: Sequence[TaskSpec], hard: Packed, *, numbers: Mapping[TaskId, int], ids: Sequence[TaskId]
) -> tuple[list[list[int]], list[tuple[int, int]]]:
    if not any(task.prefer_after for task in tasks):
        return [NOTHING] * len(ids), []
    wished = _numbers_of([task.prefer_after for task in tasks], numbers, ids=ids, key="prefer_after")
    # What is waited for anyway need not be wished for.
    return wishes.keep(
        hard, [[n for n in given if n not in needed] for given, needed in zip(wished, hard, strict=True)]
    )


def batches(graph: Graph) -> list[list[int]]:
    """Group the tasks as Kahn's algorithm does: each batch depends only on those before it; numbers ascend."""
    if graph.layers is None:
        graph.layers = layers(_depth(graph))
    return graph.layers


def widths(graph: Graph) -> list[int]:
    """Count the tasks of each batch, which is quicker than to make the batches."""
    counts = Counter(_depth(graph))
    return [counts[level] for level in range(len(counts))]


def _depth(graph: Graph) -> "array[int]":
    if graph.depth is None:
        graph.depth = depths(graph.hard)
        assert graph.depth is not None
    return graph.depth


def paths(graph: Graph) -> list[int]:
    """Count, for each task, the tasks on the longest path from it to an end, itself included."""
    flat, starts = graph.hard.flat, graph.hard.starts
    length = [1] * len(graph.hard)
    for batch in reversed(batches(graph)):
        for number in batch:
            longer = length[number] + 1
            for dependency in flat[starts[number] : starts[number + 1]]:
                if length[dependency] < longer:  # noqa: PLR1730 - calling max takes twice as long
                    length[dependency] = longer
    return length


def critical_path(graph: Graph) -> list[int]:
    """Return one longest path from first to last; among equals the smallest numbers."""
    length = paths(graph)
    if not length:
        return []
    longest = max(length)
    path = [length.index(longest)]
    for group in reversed(layers(length)[1:longest]):
        path.append(next(number for number in group if path[-1] in graph.hard[number]))
    return path
