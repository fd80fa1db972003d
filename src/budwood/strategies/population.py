"""Populations that evolve: who is in which island, who is replaced by whom, and who is chosen as a parent.

An island keeps its best members: so many of them, or with a grid the best of every cell that its metrics fall into. All
of it follows from the order in which members come and from the random numbers that are handed in. Knows numbers and
names; must not know what a member is, or how one is made of others: what an agent edits and what an operator
recombines are selected alike.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

Cell = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Feature:
    """A metric that candidates are told apart by, and into how many parts its range is cut."""

    metric: str
    low: float
    high: float
    bins: int

    def bin(self, value: float) -> int:
        """Say which part a value falls into; what lies outside of the range belongs to its ends."""
        place = int((value - self.low) / (self.high - self.low) * self.bins) if self.low < value < self.high else 0
        return self.bins - 1 if value >= self.high else min(place, self.bins - 1)


@dataclass(frozen=True, slots=True)
class Member:
    """A candidate that may be a parent."""

    name: str
    number: int
    """Its place among all that were asked for: of two that are as good, the earlier one counts as better."""
    rank: float
    tree: str = ""
    """What it is, by content."""
    cell: Cell = ()

    @property
    def weight(self) -> tuple[float, int]:
        """What members are compared by."""
        return self.rank, -self.number


@dataclass(slots=True)
class Changes:
    """What becomes of members when others come."""

    left: list[tuple[Member, str]] = field(default_factory=list)
    """Those that are in no more, each with the reason."""
    refused: list[tuple[Member, str]] = field(default_factory=list)

    def add(self, other: "Changes") -> None:
        """Take in what happened after."""
        self.left += other.left
        self.refused += other.refused


class Island:
    """One population. Its members stand in the order in which they came."""

    def __init__(self, capacity: int | None, elites: int) -> None:
        self._capacity = capacity
        """How many it keeps; None keeps the best of every cell."""
        self._elites = elites
        self.members: list[Member] = []

    def admit(self, member: Member) -> Changes:
        """Let one in, if it is better than whom it would replace."""
        twin = _twin(member, self.members)
        if twin is not None:
            return Changes(refused=[(member, f"it is what {twin.name} is")])
        rival = self._rival(member)
        if rival is None:
            self.members.append(member)
            return Changes()
        if rival.weight >= member.weight:
            return Changes(refused=[(member, f"{rival.name} is as good or better")])
        self.members.remove(rival)
        self.members.append(member)
        return Changes(left=[(rival, f"{member.name} is better")])

    def turn_over(self, born: Iterable[Member]) -> Changes:
        """Let a generation take the place of the last: its best, beside the elites of old.

        Where there are too few of it, the next best of old stay. In a grid each cell keeps its best, of old or new.
        """
        changes = Changes()
        fresh: list[Member] = []
        for member in born:
            if self._capacity is None:
                changes.add(self.admit(member))
                continue
            twin = _twin(member, (*self.members, *fresh))
            if twin is None:
                fresh.append(member)
            else:
                changes.refused.append((member, f"it is what {twin.name} is"))
        if self._capacity is not None:
            changes.add(self._replace(fresh, capacity=self._capacity))
        return changes

    def _replace(self, fresh: Sequence[Member], *, capacity: int) -> Changes:
        old, young = _ranked(self.members), _ranked(fresh)
        elites = min(self._elites, len(old))
        chosen = young[: capacity - elites]
        kept = old[: max(elites, capacity - len(chosen))]
        self.members = sorted((*kept, *chosen), key=lambda each: each.number)
        return Changes(
            left=[(each, "a new generation took its place") for each in old[len(kept) :]],
            refused=[(each, "others of its generation are better") for each in young[len(chosen) :]],
        )

    def parent(self, random: Random, *, tournament: int, but: Member | None = None) -> Member | None:
        """Choose the best of so many that are drawn; None if there is nobody."""
        there = [member for member in self.members if member is not but]
        if not there:
            return None
        return max((random.choice(there) for _ in range(tournament)), key=lambda member: member.weight)

    def best(self) -> Member | None:
        """Return the best member; None if there is nobody."""
        return max(self.members, key=lambda member: member.weight, default=None)

    def _rival(self, member: Member) -> Member | None:
        """Return whom a member would replace; None while there is room."""
        if self._capacity is None:
            return next((each for each in self.members if each.cell == member.cell), None)
        if len(self.members) < self._capacity:
            return None
        return min(self.members, key=lambda each: each.weight)


class Archipelago:
    """All islands of one search: the first one sends to the second, and the last to the first."""

    def __init__(self, islands: int, *, capacity: int | None, elites: int) -> None:
        self.islands = [Island(capacity, elites) for _ in range(islands)]

    def has(self, name: str) -> bool:
        """Say whether a member is anywhere."""
        return any(member.name == name for island in self.islands for member in island.members)

    def migrate(self) -> Changes:
        """Send the best of every island to the next one; those that set out are chosen before the first arrives."""
        changes = Changes()
        setting_out = [island.best() for island in self.islands]
        for place, member in enumerate(setting_out):
            if member is not None:
                changes.left += self.islands[(place + 1) % len(self.islands)].admit(member).left
        return changes


def cell_of(features: Sequence[Feature], metrics: Mapping[str, float]) -> Cell | str:
    """Say which cell a candidate belongs to; the name of the metric that it lacks where there is no telling."""
    for feature in features:
        value = metrics.get(feature.metric)
        if value is None or math.isnan(value):
            return feature.metric
    return tuple(feature.bin(metrics[feature.metric]) for feature in features)


def _twin(member: Member, others: Iterable[Member]) -> Member | None:
    """Find one that is the same: itself, or another with the same content."""
    return next(
        (each for each in others if each.name == member.name or (member.tree and each.tree == member.tree)), None
    )


def _ranked(members: Iterable[Member]) -> list[Member]:
    return sorted(members, key=lambda member: member.weight, reverse=True)
