"""Print the sum of the radii of the circles in circles.txt, each as large as the border and its neighbours allow."""

import math
from pathlib import Path

Place = tuple[float, float]


def read() -> list[Place]:
    """Read the centres: one to a line, with an empty line between, so that git can merge moves of neighbours."""
    lines = Path("circles.txt").read_text().split("\n")
    return [(float(x), float(y)) for x, y in (line.split() for line in lines if line)]


def write(centres: list[Place]) -> None:
    """Write the centres."""
    Path("circles.txt").write_text("\n\n".join(f"{x:.6f} {y:.6f}" for x, y in centres) + "\n")


def radii(centres: list[Place]) -> float:
    """Return the sum of the radii; NaN, which is no valid score, if a centre is outside of the unit square."""
    total = 0.0
    for n, (x, y) in enumerate(centres):
        edge = min(x, y, 1 - x, 1 - y)
        if edge <= 0:
            return math.nan
        total += min(edge, *(math.dist((x, y), other) / 2 for m, other in enumerate(centres) if m != n))
    return total


if __name__ == "__main__":
    print(radii(read()))
