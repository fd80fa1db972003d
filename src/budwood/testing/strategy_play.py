"""A strategy driven by hand, in one thread: what the engine does with it, without an engine.

Knows the contract of strategies; must not know any strategy.
"""

from collections.abc import Callable
from typing import Self

from budwood._core.model import TaskPhase, TaskSpec
from budwood._core.scores import Judgement, Score
from budwood.strategies.base import Strategy, Told, random_of


class Play:
    """One search: answers as they came, and what became of their tasks."""

    def __init__(
        self,
        strategy: Strategy,
        work: Callable[[TaskSpec], object],
        *,
        seed: int,
        score: Callable[[TaskSpec], Score | None] = lambda _: None,
        newest_first: bool = False,
    ) -> None:
        self.strategy = strategy
        self.seed = seed
        self.answers: list[tuple[TaskSpec, ...]] = []
        self.over = False
        self.judgements: list[tuple[Judgement, ...]] = []
        """What was judged with each answer, the last one included."""
        self.reason = ""
        self._work = work
        self._score = score
        self._newest_first = newest_first
        self._untold: list[Told] = []
        self._tasks = 0

    def go(self, asks: int) -> Self:
        """Ask until there are so many answers, or the strategy wants no more."""
        while len(self.answers) < asks and self.step():
            pass
        return self

    def step(self) -> bool:
        """Tell what the next answer may know, and ask for it; return whether there was one."""
        number = len(self.answers)
        self.tell(number)
        answer = tuple(self.strategy.ask(number, random_of(self.seed, number)))
        self.judgements.append(tuple(self.strategy.judged(number)))
        if answer:
            self._take(number, answer)
        else:
            self.reason = self.strategy.reason(number)
        self.over = not answer
        return bool(answer)

    def replay(self, other: "Play", *, until: int) -> None:
        """Show the strategy what another one was told and had asked, without asking it."""
        for number, answer in enumerate(other.answers[:until]):
            self.tell(number)
            self._take(number, answer)

    def _take(self, number: int, answer: tuple[TaskSpec, ...]) -> None:
        self.answers.append(answer)
        self.strategy.asked(number, answer)
        for task in answer:
            self._untold.append(self._done(task, number))
            self._tasks += 1

    def _done(self, task: TaskSpec, ask: int) -> Told:
        try:
            result, score = self._work(task), self._score(task)
        except Exception:  # whatever the task's function raises, the task has failed
            return Told(task=task, number=self._tasks, ask=ask, state=TaskPhase.FAILED, error="exception")
        return Told(task=task, number=self._tasks, ask=ask, state=TaskPhase.DONE, result=result, score=score)

    def tell(self, number: int) -> None:
        """Tell what answer `number` may know; nothing that was told before."""
        if self._newest_first:
            due, self._untold = self._untold[::-1], []
        else:
            sees_to = number - self.strategy.window
            due = [told for told in self._untold if told.ask <= sees_to]
            self._untold = [told for told in self._untold if told.ask > sees_to]
        for told in due:
            self.strategy.tell(told)
