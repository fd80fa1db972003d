"""Shorten the tours that the prompt on standard input names, by turning parts of them round until nothing is gained.

The agent of this example: real work, with no model. Where it begins is chance, and chance comes from the attempt's own
seed, so that the same run finds the same tours.
"""

import json
import math
import os
import random
import sys
from pathlib import Path

Place = tuple[float, float]


def shorten(stops: list[str], places: dict[str, Place], *, rounds: int) -> list[str]:
    """Turn parts round for as long as the tour gets shorter, at most so often."""
    for _ in range(rounds):
        found = False
        for a in range(len(stops) - 1):
            for b in range(a + 2, len(stops) - (a == 0)):
                ends = stops[a], stops[a + 1], stops[b], stops[(b + 1) % len(stops)]
                p, q, r, s = (places[stop] for stop in ends)
                if math.dist(p, r) + math.dist(q, s) < math.dist(p, q) + math.dist(r, s) - 1e-9:
                    stops[a + 1 : b + 1] = stops[a + 1 : b + 1][::-1]
                    found = True
        if not found:
            break
    return stops


def main(prompt: str) -> None:
    """Do what the prompt says."""
    chance = random.Random(int(os.environ["BUDWOOD_ATTEMPT_SEED"]))
    everywhere = json.loads(Path("places.json").read_text())
    asked = prompt.rpartition("How to go about it:")[2]
    for name in ("north", "south"):
        if name in asked:
            stops = Path(f"{name}.txt").read_text().split()
            turn = chance.randrange(len(stops))
            better = shorten(stops[turn:] + stops[:turn], everywhere[name], rounds=1 if "quickly" in asked else 100)
            Path(f"{name}.txt").write_text("".join(f"{stop}\n" for stop in better))
    print(f"shortened: {asked.strip()}")


if __name__ == "__main__":
    main(sys.stdin.read())
