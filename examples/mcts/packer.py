"""An agent without a model: reworks four neighbours, where lessons of earlier attempts leave hope, and leaves its own.

It stands in a workspace with `circles.txt` and `score.py`, as a coding agent would, and reads its prompt from a file.
"""

import math
import os
import random
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path.cwd()))

from score import radii, read, write  # type: ignore[import-not-found]  # of the workspace

LESSON = re.compile(r"reworked circle (\d+) and its neighbours: no gain")
NEIGHBOURS, MOVES = 4, 200


def main(prompt: str) -> None:
    """Do one attempt. The dice are the attempt's own, so that the same attempt comes to the same."""
    dice = random.Random(os.environ["BUDWOOD_ATTEMPT_SEED"])
    centres = read()
    before = radii(centres)
    spoiled = {int(number) for number in LESSON.findall(prompt)}
    middle = dice.choice([n for n in range(len(centres)) if n not in spoiled] or [*range(len(centres))])
    near = sorted(range(len(centres)), key=lambda n: math.dist(centres[n], centres[middle]))[:NEIGHBOURS]
    wild = dice.choice([0.12, 0.04, 0.01])
    for n in near:
        centres[n] = (centres[n][0] + dice.gauss(0, wild), centres[n][1] + dice.gauss(0, wild))
    best, reach = radii(centres), 0.06
    for _ in range(MOVES):
        n = dice.choice(near)
        old = centres[n]
        centres[n] = (old[0] + dice.gauss(0, reach), old[1] + dice.gauss(0, reach))
        now = radii(centres)
        if now > best or math.isnan(best):
            best = now
        else:
            centres[n] = old
        reach *= 0.98
    write(centres)
    lesson = f"reworked circle {middle} and its neighbours: {'better' if best > before else 'no gain'}"
    Path(os.environ["BUDWOOD_NOTES"], "lesson.md").write_text(lesson + "\n")
    print(f"{lesson}, {before:.4f} to {best:.4f}")


if __name__ == "__main__":
    main(Path(sys.argv[1]).read_text())
