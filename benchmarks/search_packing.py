"""A problem for searches: circles in a unit square, the sum of their radii as large as can be.

A candidate is where the centres are; each circle is as large as the border and half the way to its nearest neighbour
let it be. An attempt throws four neighbours about, moves them a little as often as patience lasts, and keeps what is
better; a circle outside of the square has no valid score.
"""

import math
from random import Random

from benchmarks.search_problems import Workbench

CIRCLES = 16
REACH = {"boldly": 0.12, "gently": 0.04, "finely": 0.01}
NEIGHBOURS = 4
MOVES = 40

Place = tuple[float, float]


class Packing(Workbench[Place]):
    """Circles in a square."""

    unit = "sum of radii"

    def start(self) -> tuple[Place, ...]:
        """Return rows of four, well away from where they should be; the same for every seed."""
        place = Random(1)
        return tuple(
            (0.2 + 0.15 * (n % 4) + place.uniform(-0.03, 0.03), 0.2 + 0.15 * (n // 4) + place.uniform(-0.03, 0.03))
            for n in range(CIRCLES)
        )

    def value(self, parts: tuple[Place, ...]) -> float:
        """Return the sum of the radii; NaN if a centre is outside."""
        total = 0.0
        for n, (x, y) in enumerate(parts):
            edge = min(x, y, 1 - x, 1 - y)
            if edge <= 0:
                return math.nan
            total += min(edge, *(math.dist((x, y), other) / 2 for m, other in enumerate(parts) if m != n))
        return total

    def rework(self, parts: tuple[Place, ...], place: int, word: str, random: Random) -> tuple[Place, ...]:
        """Throw some neighbours about, then move them a little as often as patience lasts; keep what is better."""
        near = sorted(range(CIRCLES), key=lambda n: math.dist(parts[n], parts[place]))[:NEIGHBOURS]
        places, wild = list(parts), REACH[word]
        for n in near:
            places[n] = (places[n][0] + random.gauss(0, wild), places[n][1] + random.gauss(0, wild))
        best, reach = self.value(tuple(places)), 0.05
        for _ in range(MOVES):
            n = random.choice(near)
            old = places[n]
            places[n] = (old[0] + random.gauss(0, reach), old[1] + random.gauss(0, reach))
            value = self.value(tuple(places))
            if value > best or math.isnan(best):
                best = value
            else:
                places[n] = old
            reach *= 0.95
        return tuple(places)
