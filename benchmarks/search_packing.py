"""A problem for searches: circles in a unit square, the sum of their radii as large as can be.

A candidate is where the centres are; each circle is as large as the border and half the way to its nearest neighbour
let it be. An attempt is made by a program that stands for an agent: it reworks a few neighbours in the candidate that
its task grows from, by chance and by what the prompt says, and leaves a lesson. One in ten fails, as agents do, and a
circle outside of the square has no valid score. Two candidates are merged as git merges files with a paragraph for each
centre: a circle that both have moved is a conflict.
"""

import math
import re
from random import Random

from budwood._core.model import TaskSpec
from budwood._core.scores import Score, Scoring, Stage

SCORING = Scoring(stages=(Stage(run="python score.py"),), direction="max")
CIRCLES = 16
FAILS = 0.1
REACH = {"boldly": 0.12, "gently": 0.04, "finely": 0.01}
"""What a prompt may say of how far circles are thrown; where it says nothing, it is left to chance."""
NEIGHBOURS = 4
MOVES = 40
_LESSON = re.compile(r"reworked circle (\d+) and its neighbours: (better|no gain)")

Place = tuple[float, float]
Packing = tuple[Place, ...]


def start() -> Packing:
    """Return the centres that every search begins with: rows of four, well away from where they should be."""
    place = Random(1)
    return tuple(
        (0.2 + 0.15 * (n % 4) + place.uniform(-0.03, 0.03), 0.2 + 0.15 * (n // 4) + place.uniform(-0.03, 0.03))
        for n in range(CIRCLES)
    )


def radii(packing: Packing) -> float:
    """Return the sum of the radii; NaN if a centre is outside."""
    total = 0.0
    for n, (x, y) in enumerate(packing):
        edge = min(x, y, 1 - x, 1 - y)
        if edge <= 0:
            return math.nan
        total += min(edge, *(math.dist((x, y), other) / 2 for m, other in enumerate(packing) if m != n))
    return total


class Workbench:
    """Where the attempts of one search are made: what a run has workspaces, an agent and a score command for."""

    def __init__(self, seed: int, *, reads_lessons: bool = True) -> None:
        self._seed = seed
        self._reads_lessons = reads_lessons
        self.made: dict[str, Packing] = {}
        self._grown_from: dict[str, str] = {}
        self.scores: list[float] = []
        """The best so far, after each attempt."""

    def work(self, task: TaskSpec) -> object:
        """Do a task; return its notes. What it raises is a failed attempt."""
        if not task.after:
            self.made[str(task.id)] = start()
            return None
        self.scores.append(self.scores[-1])
        self._grown_from[str(task.id)] = str(task.after[0])
        random = Random(f"{self._seed} {task.id}")
        standing = self._merged([self.made[str(name)] for name in task.after], task)
        if random.random() < FAILS:
            raise RuntimeError("the agent gave up")
        made, centre = self._rework(standing, task.prompt, random)
        self.made[str(task.id)] = made
        end = "better" if radii(made) > radii(standing) else "no gain"
        return {"lesson.md": f"reworked circle {centre} and its neighbours: {end}"}

    def score(self, task: TaskSpec) -> Score | None:
        """Score what a task made."""
        value = radii(self.made[str(task.id)])
        if math.isnan(value):
            return Score(valid=False, why="a circle is outside")
        if not self.scores:
            self.scores.append(value)
        self.scores[-1] = max(self.scores[-1], value)
        return Score(value=value, metrics={"score": value})

    def _merged(self, parents: list[Packing], task: TaskSpec) -> Packing:
        if len(parents) == 1:
            return parents[0]
        base = self.made[self._grown_from[str(task.after[0])]]  # of both: they are siblings
        merged = []
        for old, one, other in zip(base, *parents, strict=True):
            if old not in (one, other) and one != other:
                raise RuntimeError("conflict")
            merged.append(other if one == old else one)
        return tuple(merged)

    def _rework(self, packing: Packing, prompt: str, random: Random) -> tuple[Packing, int]:
        """Throw some neighbours about, then move them a little as often as patience lasts; keep what is better."""
        lessons = _LESSON.findall(prompt) if self._reads_lessons else []
        spoiled = {int(number) for number, end in lessons if end == "no gain"}
        fresh = [n for n in range(CIRCLES) if n not in spoiled] or list(range(CIRCLES))
        centre = random.choice(fresh)
        wild = next((reach for word, reach in REACH.items() if word in prompt), None) or random.choice(
            [*REACH.values()]
        )
        near = sorted(range(CIRCLES), key=lambda n: math.dist(packing[n], packing[centre]))[:NEIGHBOURS]
        places = list(packing)
        for n in near:
            places[n] = (places[n][0] + random.gauss(0, wild), places[n][1] + random.gauss(0, wild))
        best, reach = radii(tuple(places)), 0.05
        for _ in range(MOVES):
            n = random.choice(near)
            old = places[n]
            places[n] = (old[0] + random.gauss(0, reach), old[1] + random.gauss(0, reach))
            value = radii(tuple(places))
            if value > best or math.isnan(best):
                best = value
            else:
                places[n] = old
            reach *= 0.95
        return tuple(places), centre
