"""mcts driven by hand: attempts whose scores are random steps, or are told one by one."""

from collections.abc import Mapping
from random import Random

from budwood._core.model import TaskPhase, TaskSpec
from budwood._core.scores import Score, Scoring, Stage
from budwood.strategies import Strategy, Told
from budwood.strategies.base import random_of
from budwood.strategies.mcts import MctsStrategy
from budwood.testing.strategy_play import Play

SCORING = Scoring(stages=(Stage(run="./score"),))


def make(**options: object) -> MctsStrategy:
    """Make a strategy that grows as wide as deep, so that a few attempts show what it does."""
    given = {"exploration": 0.1, "greed": 0.9, "widening": 1.0, **options}
    return MctsStrategy(**{"scoring": SCORING, "prompt": "Make it faster.", **given})  # type: ignore[arg-type]


def score(value: float) -> Score:
    return Score(value=value, metrics={"score": value})


class Walk:
    """Attempts that add a random step to the score of what they grow from; some fail, some are not valid."""

    def __init__(self, *, fails: float = 0.2) -> None:
        self.values: dict[str, float] = {}
        self._fails = fails

    def work(self, task: TaskSpec) -> object:
        random = Random(str(task.id))
        if task.after and random.random() < self._fails:
            raise RuntimeError("it failed")
        self.values[str(task.id)] = max([self.values.get(str(name), 0.0) for name in task.after], default=1.0)
        self.values[str(task.id)] += random.gauss(0.0, 1.0) if task.after else 0.0
        return {"lesson.md": f"step of {task.id}"}

    def score(self, task: TaskSpec) -> Score:
        value = self.values[str(task.id)]
        return score(value) if value > -1 else Score(value=value, valid=False, why="below the threshold")

    def play(self, strategy: Strategy, *, newest_first: bool = False) -> Play:
        return Play(strategy, self.work, seed=3, score=self.score, newest_first=newest_first)


def tell(
    strategy: Strategy,
    name: str,
    value: float | None,
    *,
    result: object = None,
    error: str = "exit",
    files: tuple[str, ...] = (),
) -> None:
    """Tell what became of a task; None is a failure."""
    node = strategy.tree.nodes[name]  # type: ignore[attr-defined]
    after = (node.parent.id,) if node.parent is not None else ()
    strategy.tell(
        Told(
            task=TaskSpec(id=name, after=after),
            number=0,
            ask=0,
            state=TaskPhase.FAILED if value is None else TaskPhase.DONE,
            error=error if value is None else "",
            score=None if value is None else score(value),
            result=result,
            files=files,
        )
    )


def ask(strategy: Strategy, number: int) -> TaskSpec:
    """Ask for one task, and record it."""
    [task] = strategy.ask(number, random_of(0, number))
    strategy.asked(number, [task])
    return task


def grow(strategy: Strategy, values: Mapping[str, float | None]) -> list[TaskSpec]:
    """Ask for tasks one by one and tell each its end; the first is the root."""
    tasks = []
    for number, (name, value) in enumerate(values.items()):
        tasks.append(ask(strategy, number))
        assert tasks[-1].id == name
        tell(strategy, name, value)
    return tasks
