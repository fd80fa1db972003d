"""A problem for searches with many hills: an NK landscape, as the field has them, another one for every seed.

A candidate is a row of 32 bits. What a bit is worth, from 0 to 1 by chance, depends on itself and on its four
neighbours to the right, so that a change that is good here spoils things there. An attempt flips one bit, three or six
of those around a place and keeps the result whatever it is worth.
"""

from random import Random

from benchmarks.search_problems import Workbench

BITS = 32
LINKS = 4
FLIPS = {"boldly": 6, "gently": 3, "finely": 1}
AROUND = 8


class Rugged(Workbench[int]):
    """A landscape of many hills."""

    unit = "mean worth of a bit"

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        worth = Random(f"landscape {seed}")
        self._worth = [[worth.random() for _ in range(2 ** (LINKS + 1))] for _ in range(BITS)]

    def start(self) -> tuple[int, ...]:
        """Return bits by chance."""
        random = Random(f"start {self.seed}")
        return tuple(random.randrange(2) for _ in range(BITS))

    def value(self, parts: tuple[int, ...]) -> float:
        """Return what a bit is worth on average."""
        total = 0.0
        for n in range(BITS):
            index = sum(parts[(n + step) % BITS] << step for step in range(LINKS + 1))
            total += self._worth[n][index]
        return total / BITS

    def rework(self, parts: tuple[int, ...], place: int, word: str, random: Random) -> tuple[int, ...]:
        """Flip some bits around a place."""
        made = list(parts)
        for step in random.sample(range(AROUND), FLIPS[word]):
            made[(place + step) % BITS] ^= 1
        return tuple(made)
