"""The candidates of a search that competes: who is in it, who is best, and what becomes of each.

Everything follows from what was told. Knows scores; must not know which strategy asks.
"""

from collections.abc import Iterable, Sequence

from budwood._core.choice import ROOT
from budwood._core.model import TaskSpec
from budwood._core.scores import Judgement, Score, Scoring, best_of, gate, primary_gain, rank_of
from budwood.strategies.base import Told
from budwood.strategies.root import root_task


class Field:
    """What has been told of the tasks of one search."""

    def __init__(self, scoring: Scoring | None) -> None:
        self.scoring = scoring
        self.told: dict[str, Told] = {}
        """By task, in the order of being told."""

    def take(self, told: Told) -> None:
        """Note what became of a task."""
        self.told[str(told.task.id)] = told

    def root(self) -> list[TaskSpec]:
        """Return the task that measures what the search starts with, where anything is measured."""
        return [] if self.scoring is None else [root_task(self.scoring)]

    @property
    def root_score(self) -> Score | None:
        """What the search started with, if that could be measured: what does not exist yet often cannot."""
        told = self.told.get(ROOT)
        score = None if told is None else told.score
        return score if score is not None and score.valid and score.value is not None else None

    def candidates(self, names: Iterable[str]) -> list[str]:
        """Return those of these tasks whose candidates may be chosen, in the order given."""
        return [name for name in names if name in self.told and not self.why_not(name)]

    def why_not(self, name: str) -> str:
        """Say why what a task made may not be chosen; empty if it may."""
        told = self.told[name]
        if not told.done:
            return f"{told.state.value}: {told.error}" if told.error else told.state.value
        return "" if self.scoring is None else gate(self.scoring, told.score, self.root_score)

    def rank(self, name: str) -> float | None:
        """Say how good a candidate is, the higher the better; None if it cannot be ranked."""
        score = self.told[name].score
        return None if self.scoring is None or score is None else rank_of(self.scoring, score, self.root_score)

    def ranked(self, names: Iterable[str]) -> list[str]:
        """Return those that may be chosen, the best first; of equal ones the first."""
        found = [name for name in self.candidates(names) if self.rank(name) is not None]
        return sorted(found, key=lambda name: (*(-part for part in self._weight(name)), self.told[name].number))

    def best(self, names: Iterable[str]) -> str | None:
        """Return the best of these; of equal ones the one that was asked for first; None if none may be chosen."""
        assert self.scoring is not None
        scores = [
            (self.told[name].number, score) for name in self.candidates(names) if (score := self.told[name].score)
        ]
        number = best_of(self.scoring, scores, self.root_score)
        return next((name for name, told in self.told.items() if told.number == number), None)

    def is_better(self, name: str, other: str) -> bool:
        """Say whether a candidate is better than another."""
        return self._weight(name) > self._weight(other)

    def _weight(self, name: str) -> tuple[float, float]:
        assert self.scoring is not None
        score, rank = self.told[name].score, self.rank(name)
        if score is None or rank is None:
            return float("-inf"), float("-inf")
        return rank, primary_gain(self.scoring, score, self.root_score)

    def why_best(self, name: str, others: Iterable[str]) -> str:
        """Say in one line why this one is chosen."""
        assert self.scoring is not None
        rivals = [each for each in self.ranked(others) if each != name]
        value = self._value(name)
        if not rivals:
            return f"{value}; no other may be chosen"
        words = "as good as the next, and first" if not self.is_better(name, rivals[0]) else "the next best"
        return f"{value}; {words}, {rivals[0]}: {self._value(rivals[0])}"

    def _value(self, name: str) -> str:
        assert self.scoring is not None
        score = self.told[name].score
        return "" if score is None or score.value is None else f"{self.scoring.primary} {score.value:g}"

    def judgements(
        self, chosen: str | None, why: str, *, first: Sequence[str], later: Sequence[str]
    ) -> tuple[Judgement, ...]:
        """Say what becomes of every candidate; of `later` ones those are rejected that are not better than the rest.

        Where nothing is chosen, `why` says why that is, of each that might have been.
        """
        return tuple(
            Judgement(task=self.told[name].task.id, decision="chosen", rank=self.rank(name), why=why)
            if name == chosen
            else self._other(name, chosen, is_later=name in later, why="" if chosen is not None else why)
            for name in (*first, *later)
            if name in self.told
        )

    def _other(self, name: str, chosen: str | None, *, is_later: bool, why: str) -> Judgement:
        task, refused = self.told[name].task.id, self.why_not(name)
        if refused:
            return Judgement(task=task, decision="rejected", rank=self.rank(name), why=refused)
        if is_later and chosen is not None:
            return Judgement(task=task, decision="rejected", rank=self.rank(name), why=f"not better than {chosen}")
        return Judgement(task=task, decision="kept", rank=self.rank(name), why=why)
