"""Slots around a real strategy, simulated: what waits for what is as in a run, and only the clock is made up.

An attempt takes a time drawn from a lognormal distribution by its task's id, so that the same attempt takes the same
time at any window. As in a run, the strategy is asked when a slot is free and nothing is ready.
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Literal

from benchmarks.search_packing import Packing

from budwood._core.model import TaskPhase, TaskSpec
from budwood.strategies import Strategy, Told
from budwood.strategies.base import random_of

Order = Literal["task", "completion"]


@dataclass(frozen=True)
class Simulated:
    """How a search went."""

    busy: float
    """The share of the slots' time that was used, until nothing more was asked for."""
    took: float
    """Until the last attempt ended; one attempt takes 1 on average."""
    best: float


@dataclass
class Slots:
    """So many slots, one strategy, and a clock."""

    strategy: Strategy
    bench: Packing
    seed: int
    slots: int
    window: int
    order: Order
    sigma: float
    """Of the logarithm of durations."""

    def __post_init__(self) -> None:
        self._now = 0.0
        self._asks = 0
        self._running: list[tuple[float, int]] = []
        self._ends: dict[int, Told] = {}
        """What becomes of a task, known when it starts."""
        self._blocked: list[tuple[int, int, TaskSpec]] = []
        self._tasks = 0
        self._open: dict[int, int] = {}
        """The answer of each task that has not ended."""
        self._untold: list[Told] = []
        self._done: set[str] = set()
        self._used = 0.0
        """How much time of slots was used, up to now."""

    def run(self) -> Simulated:
        """Search to the end."""
        over, busy = False, 0.0
        while True:
            while not over and len(self._running) < self.slots and self._may_ask():
                over = not self._ask()
            if over and not busy:
                busy = self._used / (self.slots * self._now)
            if not self._running:
                return Simulated(busy=busy, took=self._now, best=self.bench.scores[-1])
            self._end_next()

    def _may_ask(self) -> bool:
        if self.order == "completion":
            return len(self._open) < max(self.slots, self.window)
        return min(self._open.values(), default=self._asks) > self._asks - self.window

    def _ask(self) -> bool:
        due = [told for told in self._untold if self.order == "completion" or told.ask <= self._asks - self.window]
        self._untold = [told for told in self._untold if told not in due]
        for told in due if self.order == "completion" else sorted(due, key=lambda told: told.number):
            self.strategy.tell(told)
        answer = tuple(self.strategy.ask(self._asks, random_of(self.seed, self._asks)))
        if not answer:
            return False
        self.strategy.asked(self._asks, answer)
        for task in answer:
            self._open[self._tasks] = self._asks
            self._blocked.append((self._tasks, self._asks, task))
            self._tasks += 1
        self._asks += 1
        self._start_ready()
        return True

    def _start_ready(self) -> None:
        waiting: list[tuple[int, int, TaskSpec]] = []
        for number, ask, task in self._blocked:
            if len(self._running) < self.slots and {str(name) for name in task.after} <= self._done:
                random = Random(f"{self.seed} {task.id} takes")
                # With this mean of the logarithm, the mean of the durations is 1.
                took = random.lognormvariate(-(self.sigma**2) / 2, self.sigma) if task.after else 0.1
                self._ends[number] = self._work(task, number, ask)
                heapq.heappush(self._running, (self._now + took, number))
            else:
                waiting.append((number, ask, task))
        self._blocked = waiting

    def _work(self, task: TaskSpec, number: int, ask: int) -> Told:
        try:
            result, score = self.bench.work(task), self.bench.score(task)
        except RuntimeError as error:
            return Told(task=task, number=number, ask=ask, state=TaskPhase.FAILED, error=str(error))
        return Told(task=task, number=number, ask=ask, state=TaskPhase.DONE, result=result, score=score)

    def _end_next(self) -> None:
        ended, number = heapq.heappop(self._running)
        self._used += (len(self._running) + 1) * (ended - self._now)
        self._now = ended
        told = self._ends.pop(number)
        del self._open[number]
        self._untold.append(told)
        if told.done:
            self._done.add(str(told.task.id))
        self._start_ready()


def mean(values: Sequence[float]) -> float:
    """Return the mean."""
    return sum(values) / len(values)
