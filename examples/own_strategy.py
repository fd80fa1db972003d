"""A strategy of one's own: hill climbing, which asks for tasks when results come in.

    python examples/own_strategy.py

Expect: exit code 0; 60 done. The same seed finds the same place, at any number of slots, also when it is killed and
started again.
"""

import math
from collections.abc import Sequence
from random import Random

import budwood


@budwood.task
def height(place: float) -> float:
    """Say how high a place is; think of something that takes an hour."""
    return place * math.sin(place)


class HillClimb(budwood.Strategy):
    """Looks around the best place so far, in ever smaller steps; two answers are under way at once."""

    window = 2

    def __init__(self, steps: int, wide: int = 3) -> None:
        self.steps, self.wide = steps, wide
        self.best, self.top = 5.0, -math.inf

    def ask(self, number: int, random: Random) -> Sequence[budwood.TaskSpec]:
        """Ask for some places around the best one."""
        if number >= self.steps:
            return []
        reach = 5.0 * 0.8**number
        places = [self.best + random.uniform(-reach, reach) for _ in range(self.wide)]
        return [height.options(id=f"{number}-{n}").task(place) for n, place in enumerate(places)]

    def tell(self, told: budwood.Told) -> None:
        """Keep the best."""
        [place] = told.task.args
        if isinstance(told.result, float) and isinstance(place, float) and told.result > self.top:
            self.top, self.best = told.result, place


def main() -> None:
    """Climb, and tell where the top is."""
    run = budwood.start(strategy=HillClimb(steps=20), name="climb", seed=7)
    print(run.wait().counts["done"], "done")
    heights = {result.task: result.value for result in run.results() if isinstance(result.value, float)}
    best = max(heights, key=lambda task: heights[task])
    print(f"the top is {heights[best]:.3f}, found by {best}")


if __name__ == "__main__":
    main()
