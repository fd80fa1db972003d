"""A strategy for tests: climbs to the top of a hill by small random steps, several at a time."""

from collections.abc import Sequence
from random import Random

from budwood._core.model import TaskSpec
from budwood.strategies import Strategy, Told


def height(x: float) -> float:
    """Return how high the hill is at a place."""
    return 10.0 - (x - 3.0) ** 2


class HillClimb(Strategy):
    """Goes on from the best place so far."""

    window = 3
    function = "tests.strategies.climb:height"

    def __init__(self, steps: int = 12, command: str = "") -> None:
        self.steps = steps
        self.command = command
        self.best = (height(0.0), 0.0)

    def ask(self, number: int, random: Random) -> Sequence[TaskSpec]:
        if number >= self.steps:
            return ()
        place = self.best[1] + random.uniform(-1.0, 1.0)
        if self.command:
            return [TaskSpec(id=f"step-{number}", run=self.command, env={"X": str(place)})]
        return [TaskSpec(id=f"step-{number}", function=self.function, args=(place,))]

    def tell(self, told: Told) -> None:
        if isinstance(told.result, float):
            self.best = max(self.best, (told.result, float(str(told.task.args[0]))))
