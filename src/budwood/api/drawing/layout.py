"""Where things go: the rows of a tree, the numbers of a scale, and time without the hours in which nothing happened.

Arithmetic only: the same input gives the same places.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

_STEPS = (1, 2, 2.5, 5, 10)
_DAY_S = 86400.0
_SECONDS = (
    *(0.01, 0.05, 0.1, 0.5),
    *(1.0, 2.0, 5.0, 10.0, 15.0, 30.0),
    *(60.0, 120.0, 300.0, 600.0, 900.0, 1800.0),
    *(3600.0, 7200.0, 10800.0, 21600.0, 43200.0, _DAY_S),
)
LONGEST_PAUSE = 0.2
"""A pause is cut if it takes more than this part of the time in which something ran."""


def arrange(parents: Sequence[int | None], depths: Sequence[int]) -> list[float]:
    """Give every node of a forest its row, so that what grew from a node lies around it and nothing lies upon another.

    A parent has a smaller depth than its children. Children keep their order, and two nodes of one depth are at least
    one row apart; subtrees share rows where they have no depth in common.
    """
    children: dict[int | None, list[int]] = {}
    for node, parent in enumerate(parents):
        children.setdefault(parent, []).append(node)
    shift = [0.0] * len(parents)
    outlines: dict[int, _Outline] = {}
    for node in sorted(range(len(parents)), key=lambda each: -depths[each]):
        below = children.get(node, [])
        outline, places = _side_by_side([outlines.pop(child) for child in below])
        middle = (places[0] + places[-1]) / 2 if places else 0.0
        for child, place in zip(below, places, strict=True):
            shift[child] = place - middle
        outlines[node] = {depth: (low - middle, high - middle) for depth, (low, high) in outline.items()}
        outlines[node][depths[node]] = (0.0, 0.0)
    roots = children.get(None, [])
    _, places = _side_by_side([outlines[root] for root in roots])
    rows = dict(zip(roots, places, strict=True))
    for node in sorted(range(len(parents)), key=lambda each: depths[each]):
        parent = parents[node]
        if parent is not None:
            rows[node] = rows[parent] + shift[node]
    top = min(rows.values(), default=0.0)
    return [rows[node] - top for node in range(len(parents))]


_Outline = dict[int, tuple[float, float]]
"""The first and the last row that a subtree has at each depth, counted from its topmost node."""


def _side_by_side(outlines: Sequence[_Outline]) -> tuple[_Outline, list[float]]:
    """Put subtrees below each other as closely as they go; return the outline of all, and each one's place."""
    joined: _Outline = {}
    places: list[float] = []
    for outline in outlines:
        place = max((joined[depth][1] + 1 - low for depth, (low, _) in outline.items() if depth in joined), default=0.0)
        place = max(place, places[-1] + 1) if places else place
        places.append(place)
        for depth, (low, high) in outline.items():
            joined[depth] = (joined[depth][0] if depth in joined else low + place, high + place)
    return joined, places


def ticks(low: float, high: float, *, about: int = 5) -> list[float]:
    """Choose round numbers between two."""
    if not high > low:
        return [low]
    rough = (high - low) / about
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(size * each for each in _STEPS if size * each >= rough * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [number * step for number in range(first, last + 1)]


def seconds_between(total_s: float, *, about: int = 6) -> float:
    """Choose a round time, of which so many make up a whole."""
    return next((each for each in _SECONDS if each * about >= total_s), math.ceil(total_s / about / _DAY_S) * _DAY_S)


def drawn_first(parents: Mapping[int, int | None], wanted: Iterable[int], most: int) -> set[int]:
    """Choose so many nodes at most, the first that are wanted; with each, all that it grew from."""
    chosen: set[int] = set()
    for node in wanted:
        room = most - len(chosen)
        if not room:
            break
        way: list[int] = []
        at: int | None = node
        while at is not None and at not in chosen and len(way) <= room:
            way.append(at)
            at = parents[at]
        if len(way) <= room:
            chosen.update(way)
    return chosen


@dataclass(frozen=True, slots=True)
class Pause:
    """A time in which nothing ran, and which is cut short."""

    begin: float
    end: float


class TimeScale:
    """Times on a line, from left to right; long pauses take little room."""

    def __init__(self, busy: Iterable[tuple[float, float]], *, left: float, width: float, pause_px: float) -> None:
        spans = _joined(busy)
        worked = sum(end - begin for begin, end in spans)
        gaps = [Pause(end, begin) for (_, end), (begin, _) in pairwise(spans)]
        self.pauses = [gap for gap in gaps if gap.end - gap.begin > LONGEST_PAUSE * worked]
        self.begin = spans[0][0] if spans else 0.0
        self.end = spans[-1][1] if spans else 1.0
        shown = self.end - self.begin - sum(gap.end - gap.begin for gap in self.pauses)
        self._left = left
        self._pause_px = min(pause_px, width / 3 / max(1, len(self.pauses)))
        self._px_each = (width - self._pause_px * len(self.pauses)) / shown if shown > 0 else 0.0

    @property
    def segments(self) -> list[tuple[float, float]]:
        """List the times between the pauses."""
        begins = [self.begin, *(gap.end for gap in self.pauses)]
        return list(zip(begins, [*(gap.begin for gap in self.pauses), self.end], strict=True))

    def at(self, time: float) -> float:
        """Return where a time is."""
        place, begin = self._left, self.begin
        for gap in self.pauses:
            if time <= gap.begin:
                break
            place += (gap.begin - begin) * self._px_each
            if time < gap.end:
                return place + self._pause_px * (time - gap.begin) / (gap.end - gap.begin)
            place, begin = place + self._pause_px, gap.end
        return place + (time - begin) * self._px_each


def _joined(spans: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    joined: list[tuple[float, float]] = []
    for begin, end in sorted(spans):
        if joined and begin <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((begin, end))
    return joined
