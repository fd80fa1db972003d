"""What a search that grows candidates from candidates knows of each: its score, what it grew from, what was learnt.

`mcts` and `evolve` choose differently; what an attempt is told of the branch that it grows on is the same. Knows
scores, lessons and prompts; must not know how anything is chosen.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from itertools import islice
from operator import or_

from budwood._core.choice import ROOT
from budwood._core.model import TaskSpec
from budwood._core.scores import Score, Scoring, rank_of
from budwood.strategies.base import Told
from budwood.strategies.branch_prompts import CHAIN, Ancestor, lesson_of_end, prompt_of
from budwood.strategies.lessons import Lessons, noted_lesson


class Branches:
    """All that was grown in one search."""

    def __init__(self, prompt: str, *, scoring: Scoring, lessons_shown: int) -> None:
        self.scoring = scoring
        self._prompt = prompt
        self._shown = lessons_shown
        self._scores: dict[str, Score] = {}
        """Of every candidate."""
        self._parents: dict[str, tuple[str, ...]] = {}
        self._depths: dict[str, int] = {}
        self._places: dict[str, int] = {}
        self._lines: dict[str, int] = {}
        """By candidate, one bit for each that it stands on, and for itself, at that one's place."""
        self._lessons = Lessons()

    def grow(self, task: TaskSpec) -> None:
        """Take note of what was asked for."""
        name, parents = str(task.id), tuple(map(str, task.after))
        self._parents[name] = parents
        self._depths[name] = self._depths[parents[0]] + 1 if parents else 0
        self._places[name] = len(self._places)
        self._lines[name] = reduce(or_, (self._lines[parent] for parent in parents), 1 << self._places[name])

    def take(self, told: Told) -> float | None:
        """Take note of an end, and say how good its candidate is; None where nothing came of it."""
        name = str(told.task.id)
        rank = self._rank(told)
        if rank is not None and told.score is not None:
            self._scores[name] = told.score
        parents = self._parents[name]
        if self._shown and parents:
            before = self._scores.get(parents[0])
            self._lessons.add(name, noted_lesson(told.result) or lesson_of_end(told, before, self.scoring))
        return rank

    def prompt(self, parents: Sequence[str], *, near: Iterable[str], shown: Sequence[str] = ()) -> str:
        """Write the prompt of an attempt that grows from the first of `parents`, with the others merged into it.

        Lessons of `near` are told first, in that order; `shown` are candidates that the attempt is to read.
        """
        first, *others = parents
        above = [self._ancestor(name) for name in islice(self.path(first), CHAIN)][::-1]
        lessons = self._lessons.choose(near, self._prompt, count=self._shown) if self._shown else ()
        return prompt_of(
            self._prompt,
            scoring=self.scoring,
            above=above,
            depth=self._depths[first],
            joined=self._ancestor(others[0]) if others else None,
            shown=[self._ancestor(name) for name in shown],
            lessons=[(lesson, self._scores.get(lesson.task)) for lesson in lessons],
        )

    def path(self, name: str) -> Iterator[str]:
        """Go from a candidate up to the root."""
        here: str | None = name
        while here is not None:
            yield here
            here = next(iter(self._parents[here]), None)

    def stands_on(self, name: str, other: str) -> bool:
        """Say whether a candidate holds another, whichever of its parents has that, or is it."""
        return bool(self._lines[name] >> self._places[other] & 1)

    def _ancestor(self, name: str) -> Ancestor:
        return Ancestor(name, self._scores.get(name))

    def _rank(self, told: Told) -> float | None:
        if not told.done or told.score is None:
            return None
        start = told.score if str(told.task.id) == ROOT else self._scores.get(ROOT)
        rank = rank_of(self.scoring, told.score, start)
        return rank if rank is not None and math.isfinite(rank) else None
