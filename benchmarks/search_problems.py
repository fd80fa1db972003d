"""What a problem for searches is, and the attempts at it: made by a program that stands for an agent.

A candidate is a tuple of parts. An attempt reworks some of them in the candidate that its task grows from, by chance
and by what the prompt says, and leaves a lesson. One in ten fails, as agents do. Two candidates are merged as git
merges files with a paragraph for each part: a part that both have changed, and not alike, is a conflict.
"""

import math
import re
from abc import ABC, abstractmethod
from random import Random
from typing import ClassVar, Generic, TypeVar

from budwood._core.model import TaskSpec
from budwood._core.scores import Score, Scoring, Stage

SCORING = Scoring(stages=(Stage(run="python score.py"),), direction="max")
Part = TypeVar("Part")
FAILS = 0.1
WORDS = ("boldly", "gently", "finely")
"""What a prompt may say of how much is changed; where it says nothing, it is left to chance."""
_LESSON = re.compile(r"reworked part (\d+) and its neighbours: (better|no gain)")


class Workbench(ABC, Generic[Part]):
    """Where the attempts of one search are made: what a run has workspaces, an agent and a score command for."""

    unit: ClassVar[str]
    """What its score is."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.made: dict[str, tuple[Part, ...]] = {}
        self._grown_from: dict[str, str] = {}
        self.scores: list[float] = []
        """The best so far, after each attempt."""

    @abstractmethod
    def start(self) -> tuple[Part, ...]:
        """Return what a search begins with."""

    @abstractmethod
    def value(self, parts: tuple[Part, ...]) -> float:
        """Say how good a candidate is; NaN if it is not valid."""

    @abstractmethod
    def rework(self, parts: tuple[Part, ...], place: int, word: str, random: Random) -> tuple[Part, ...]:
        """Change a candidate around one of its parts."""

    def work(self, task: TaskSpec) -> object:
        """Do a task; return its notes. What it raises is a failed attempt."""
        if not task.after:
            self.made[str(task.id)] = self.start()
            return None
        self.scores.append(self.scores[-1])
        self._grown_from[str(task.id)] = str(task.after[0])
        random = Random(f"{self.seed} {task.id}")
        standing = self._merged([self.made[str(name)] for name in task.after], task)
        if random.random() < FAILS:
            raise RuntimeError("the agent gave up")
        spoiled = {int(number) for number, end in _LESSON.findall(task.prompt) if end == "no gain"}
        place = random.choice([n for n in range(len(standing)) if n not in spoiled] or range(len(standing)))
        word = next((word for word in WORDS if word in task.prompt), None) or random.choice(WORDS)
        made = self.made[str(task.id)] = self.rework(standing, place, word, random)
        end = "better" if self.value(made) > self.value(standing) else "no gain"
        return {"lesson.md": f"reworked part {place} and its neighbours: {end}"}

    def score(self, task: TaskSpec) -> Score | None:
        """Score what a task made."""
        value = self.value(self.made[str(task.id)])
        if math.isnan(value):
            return Score(valid=False, why="it is not what is asked for")
        if not self.scores:
            self.scores.append(value)
        self.scores[-1] = max(self.scores[-1], value)
        return Score(value=value, metrics={"score": value})

    def _merged(self, parents: list[tuple[Part, ...]], task: TaskSpec) -> tuple[Part, ...]:
        if len(parents) == 1:
            return parents[0]
        base = self.made[self._grown_from[str(task.after[0])]]  # of both: they are siblings
        merged = []
        for old, one, other in zip(base, *parents, strict=True):
            if old not in (one, other) and one != other:
                raise RuntimeError("conflict")
            merged.append(other if one == old else one)
        return tuple(merged)
