"""Scores a packing: runs pack.py, measures what it printed itself, and prints the radius that all circles can have."""

import json
import math
import subprocess
import sys
from itertools import combinations

CIRCLES = 13


def main() -> None:
    """Print the score; what is no packing of so many circles has none."""
    said = subprocess.run([sys.executable, "pack.py"], capture_output=True, text=True, check=True, timeout=60).stdout
    points = [(float(x), float(y)) for x, y in json.loads(said)]
    if len(points) != CIRCLES:
        sys.exit(f"{len(points)} circles, not {CIRCLES}")
    walls = min(min(x, y, 1 - x, 1 - y) for x, y in points)
    radius = min([walls, *(math.dist(a, b) / 2 for a, b in combinations(points, 2))])
    print(json.dumps({"score": max(radius, 0.0), "covered": CIRCLES * math.pi * max(radius, 0.0) ** 2}))


if __name__ == "__main__":
    main()
