"""Print how long the two tours are together, in kilometres; fail if a tour leaves a place out."""

import json
import math
from pathlib import Path


def length(name: str) -> float:
    """Measure one tour, back to where it began."""
    places = json.loads(Path("places.json").read_text())[name]
    order = Path(f"{name}.txt").read_text().split()
    if sorted(order) != sorted(places):
        raise SystemExit(f"{name}.txt does not visit every place once")
    stops = [places[stop] for stop in order]
    return sum(math.dist(a, b) for a, b in zip(stops, [*stops[1:], stops[0]], strict=True))


if __name__ == "__main__":
    print(round(length("north") + length("south"), 3))
