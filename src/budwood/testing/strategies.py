"""The proof that a strategy keeps its promises.

    class TestHillClimb(StrategyConformance):
        def make(self): return HillClimb(steps=20)
        def work(self, task): return score(*task.args)

Knows the contract of strategies; must not know any strategy.
"""

import random
from collections.abc import Sequence

import msgspec
import pytest

from budwood._core.model import TaskPhase, TaskSpec
from budwood._core.scores import Score
from budwood.strategies.base import Strategy, Told, random_of
from budwood.testing.strategy_play import Play

__all__ = ["StrategyConformance"]


class StrategyConformance:
    """Every rule of `budwood.strategies.base`; inherit, and supply `make` and, if results matter, `work`."""

    asks = 30
    """How many answers are looked at."""
    seeds = (0, 1, 2**40)

    def make(self) -> Strategy:
        """Make a new object of the strategy."""
        raise NotImplementedError("a class that inherits from StrategyConformance makes its strategy")

    def work(self, task: TaskSpec) -> object:
        """Do a task: return what its function would; None for a command. An exception is a failed task."""
        return None

    def score(self, task: TaskSpec) -> Score | None:
        """Score what a task made; None where nothing is to be scored."""
        return None

    def play(self, seed: int, *, asks: int | None = None) -> Play:
        """Let a new object search for a while."""
        return self._begin(seed).go(self.asks if asks is None else asks)

    def _begin(self, seed: int) -> Play:
        return Play(self.make(), self.work, seed=seed, score=self.score)

    def test_the_window_lets_at_least_one_answer_be_under_way(self) -> None:
        assert self.make().window >= 1

    @pytest.mark.parametrize("place", range(len(seeds)))
    def test_two_objects_give_the_same_answers(self, place: int) -> None:
        seed = self.seeds[place]
        random.seed(1)
        first = self.play(seed).answers
        random.seed(2)
        assert self.play(seed).answers == first

    def test_asking_changes_nothing(self) -> None:
        play = self._begin(self.seeds[0])
        for number in range(self.asks):
            play.tell(number)
            once = tuple(play.strategy.ask(number, random_of(play.seed, number)))
            judged = tuple(play.strategy.judged(number))
            assert tuple(play.strategy.ask(number, random_of(play.seed, number))) == once
            assert tuple(play.strategy.judged(number)) == judged
            if not play.step():
                break

    def test_a_new_object_that_is_shown_what_happened_goes_on_the_same_way(self) -> None:
        whole = self.play(self.seeds[0])
        for number in range(len(whole.answers) + 1):
            again = self._begin(self.seeds[0])
            again.replay(whole, until=number)
            assert again.go(self.asks).answers == whole.answers
            assert again.judgements == whole.judgements[number:]

    def test_every_task_has_an_id_of_its_own(self) -> None:
        ids = [str(task.id) for answer in self.play(self.seeds[0]).answers for task in answer]
        assert len(ids) == len(set(ids))

    def test_tasks_come_after_tasks_that_are_known(self) -> None:
        known: set[str] = set()
        for answer in self.play(self.seeds[0]).answers:
            known |= {str(task.id) for task in answer}
            assert {str(name) for task in answer for name in (*task.after, *task.prefer_after)} <= known

    def test_every_task_says_what_to_run(self) -> None:
        tasks = _all_tasks(self.play(self.seeds[0]).answers)
        assert [task.id for task in tasks if sum(map(bool, (task.run, task.function, task.prompt))) != 1] == []

    def test_what_is_asked_comes_back_from_json_as_it_was(self) -> None:
        for task in _all_tasks(self.play(self.seeds[0]).answers):
            assert msgspec.json.decode(msgspec.json.encode(task), type=TaskSpec) == task

    def test_after_the_last_answer_come_no_others(self) -> None:
        play = self.play(self.seeds[0])
        if play.over:
            number = len(play.answers)
            assert tuple(play.strategy.ask(number + 1, random_of(play.seed, number + 1))) == ()

    def test_failed_tasks_are_no_reason_to_fail(self) -> None:
        def fail(task: TaskSpec) -> object:
            raise ValueError(f"task {task.id} fails")

        Play(self.make(), fail, seed=self.seeds[0], score=self.score).go(self.asks)

    def test_skipped_and_cancelled_tasks_are_no_reason_to_fail(self) -> None:
        strategy = self.make()
        tasks = tuple(strategy.ask(0, random_of(0, 0)))
        strategy.asked(0, tasks)
        for number, task in enumerate(tasks):
            state = (TaskPhase.SKIPPED, TaskPhase.CANCELLED)[number % 2]
            strategy.tell(Told(task=task, number=number, ask=0, state=state))
        strategy.ask(1, random_of(0, 1))

    def test_ends_may_come_in_the_order_of_time(self) -> None:
        Play(self.make(), self.work, seed=self.seeds[0], score=self.score, newest_first=True).go(self.asks)


def _all_tasks(answers: Sequence[tuple[TaskSpec, ...]]) -> list[TaskSpec]:
    return [task for answer in answers for task in answer]
