"""Which soft edges can be kept without closing a cycle.

Knows lists of numbers. Must not know tasks. Only where hard and soft edges together lead round in a circle is there
anything to decide, and each such knot is decided by itself: depth first, from the numbers of the knot that no other of
it has a hard edge to, in their order; hard edges first, then wishes as they are given. A wish is dropped if it leads to
a number that is still on the way (or has to wait for one by hard edges): the way from there to here is kept, so the
wish would close a circle with what is kept. All others are kept. So that each edge is followed about once, however many
contradict each other; and numbers that are added later, which nothing before them depends on, change nothing.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from budwood._core.cycles import components
from budwood._core.edges import NOTHING, Edges, depths

_NEW, _BEGUN, _OVER = 0, 1, 2


def keep(hard: Edges, soft: Edges) -> tuple[list[list[int]], list[tuple[int, int]]]:
    """Return the soft edges that are kept and those dropped (in order); the hard ones have no cycle."""
    both = [[*needed, *wished] if wished else needed for needed, wished in zip(hard, soft, strict=True)]
    if depths(both) is not None:
        return [list(given) if given else NOTHING for given in soft], []
    dropped: set[tuple[int, int]] = {(number, number) for number, given in enumerate(soft) if number in given}
    for knot in components(both):
        if len(knot) > 1:
            dropped.update(_Knot(sorted(knot), hard, soft).untie())
    kept = [[wish for wish in given if (number, wish) not in dropped] or NOTHING for number, given in enumerate(soft)]
    return kept, [(number, wish) for number, given in enumerate(soft) for wish in given if (number, wish) in dropped]


class _Knot:
    """Numbers of which each leads to every other, by hard edges and wishes."""

    def __init__(self, members: Sequence[int], hard: Edges, soft: Edges) -> None:
        place = {number: index for index, number in enumerate(members)}
        self._members = members
        self._hard = [[place[n] for n in hard[member] if n in place] for member in members]
        self._soft = [[place[n] for n in soft[member] if n in place and n != member] for member in members]
        self._state = bytearray(len(members))
        self._done_hard = [0] * len(members)
        """How many of its hard edges lead to what is over, from the first one on."""
        self._done_soft = [0] * len(members)
        self._held_by = [-1] * len(members)
        """A number that this one is known to have to wait for; of use while that is on the way."""
        self._looks = 0
        self._looked = [0] * len(members)
        """The last look at what is held that came by here."""

    def untie(self) -> Iterable[tuple[int, int]]:
        """Decide every wish; give those that are dropped."""
        below = {dependency for given in self._hard for dependency in given}
        for root in range(len(self._members)):
            if root not in below and self._state[root] == _NEW:
                yield from self._follow(root)

    def _follow(self, root: int) -> Iterable[tuple[int, int]]:
        self._state[root] = _BEGUN
        way = [root]
        while way:
            here = way[-1]
            there = self._next_hard(here)
            if there < 0:
                while (there := self._next_wish(here)) >= 0 and self._is_held(there):
                    yield self._members[here], self._members[there]
            if there < 0:
                self._state[here] = _OVER
                way.pop()
            else:
                self._state[there] = _BEGUN
                way.append(there)

    def _next_hard(self, here: int) -> int:
        """Return the first number that is not over among those that this one has to wait for; -1 if all are."""
        given, state = self._hard[here], self._state
        index = self._done_hard[here]
        while index < len(given) and state[given[index]] == _OVER:
            index += 1
        self._done_hard[here] = index
        return given[index] if index < len(given) else -1

    def _next_wish(self, here: int) -> int:
        given, state = self._soft[here], self._state
        index = self._done_soft[here]
        while index < len(given) and state[given[index]] == _OVER:
            index += 1
        self._done_soft[here] = index + 1
        return given[index] if index < len(given) else -1

    def _is_held(self, number: int) -> bool:
        """Say whether a number is on the way, or has to wait for one that is.

        If it is not it is followed next, with all that was looked at here; so only what is dropped costs more than
        following it.
        """
        if self._holder(number) >= 0:
            return True
        self._looks += 1
        way = [(number, self._open_hard(number))]
        while way:
            _, rest = way[-1]
            for there in rest:
                holder = self._holder(there)
                if holder >= 0:
                    for waiting, _ in way:
                        self._held_by[waiting] = holder
                    return True
                if self._state[there] == _NEW and self._looked[there] != self._looks:
                    self._looked[there] = self._looks
                    way.append((there, self._open_hard(there)))
                    break
            else:
                way.pop()
        return False

    def _open_hard(self, here: int) -> Iterator[int]:
        self._next_hard(here)
        return islice(self._hard[here], self._done_hard[here], None)

    def _holder(self, number: int) -> int:
        if self._state[number] == _BEGUN:
            return number
        holder = self._held_by[number]
        return holder if holder >= 0 and self._state[holder] == _BEGUN else -1
