"""Packs thirteen circles of one size into a square of side 1, and prints where their centres are."""

import json
import math
import random

CIRCLES = 13
ROUNDS = 3000
REACH = 0.2


def begin(chance: random.Random) -> list[tuple[float, float]]:
    """Place the centres anywhere."""
    return [(chance.random(), chance.random()) for _ in range(CIRCLES)]


def room(points: list[tuple[float, float]], k: int) -> float:
    """Say how large the circle at one centre may be."""
    x, y = points[k]
    walls = min(x, y, 1 - x, 1 - y)
    return min([walls, *(math.dist(points[k], other) / 2 for n, other in enumerate(points) if n != k)])


def reach(number: int) -> float:
    """Say how far to move in a round."""
    return REACH


def pack(chance: random.Random) -> list[tuple[float, float]]:
    """Move one centre after the other, wherever that gives it more room."""
    points = begin(chance)
    for number in range(ROUNDS):
        k, far = chance.randrange(CIRCLES), reach(number)
        moved = list(points)
        moved[k] = (points[k][0] + chance.gauss(0, far), points[k][1] + chance.gauss(0, far))
        if room(moved, k) > room(points, k):
            points = moved
    return points


if __name__ == "__main__":
    print(json.dumps(pack(random.Random(2))))
