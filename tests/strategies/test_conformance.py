"""The shipped proof of strategies: what we have passes it, what breaks a rule does not."""

from collections.abc import Sequence
from itertools import count
from random import Random

import pytest
from tests.strategies.climb import HillClimb, height

from budwood._core.model import LaneSpec, TaskSpec
from budwood.strategies import PlanStrategy, Strategy, Told
from budwood.testing.strategies import StrategyConformance

TASKS = (TaskSpec(id="a", run="true", lane="x"), TaskSpec(id=2, function="m:f", args=(1, [2.5, None]), after=("a",)))


class TestPlan(StrategyConformance):
    def make(self) -> Strategy:
        return PlanStrategy(TASKS, [LaneSpec(id="x")])

    def test_all_tasks_are_in_the_first_answer(self) -> None:
        assert self.play(7).answers == [TASKS]


class TestHillClimb(StrategyConformance):
    def make(self) -> Strategy:
        return HillClimb()

    def work(self, task: TaskSpec) -> object:
        return height(float(str(task.args[0])))

    def test_it_climbs(self) -> None:
        play = self.play(7, asks=12)
        assert isinstance(play.strategy, HillClimb)
        assert play.strategy.best[0] > height(0.0)


class Broken(HillClimb):
    """Breaks one rule, by name."""

    counter = count()

    def __init__(self, rule: str) -> None:
        super().__init__()
        self.rule = rule
        self.asked_so_far = 0

    def ask(self, number: int, random: Random) -> Sequence[TaskSpec]:
        self.asked_so_far += 1
        if self.rule == "own randomness":
            return [TaskSpec(id=f"t{number}", run=f"echo {next(self.counter)}")]
        if self.rule == "changes by asking":
            return [TaskSpec(id=f"t{number}", run=f"echo {self.asked_so_far}")]
        if self.rule == "twin ids":
            return [TaskSpec(id="t", run="true")] if number < 3 else []
        if self.rule == "no json":
            return [TaskSpec(id="t", function="m:f", args=({1},))] if number == 0 else []
        if self.rule == "unknown task":
            return [TaskSpec(id="t", run="true", after=("nobody",))] if number == 0 else []
        if self.rule == "nothing to run":
            return [TaskSpec(id="t")] if number == 0 else []
        return super().ask(number, random)

    def tell(self, told: Told) -> None:
        if self.rule == "cannot bear failure" and not told.done:
            raise ValueError("it failed")


@pytest.mark.parametrize(
    ("rule", "proof"),
    [
        ("own randomness", "test_asking_changes_nothing"),
        ("changes by asking", "test_a_new_object_that_is_shown_what_happened_goes_on_the_same_way"),
        ("changes by asking", "test_asking_changes_nothing"),
        ("twin ids", "test_every_task_has_an_id_of_its_own"),
        ("no json", "test_what_is_asked_comes_back_from_json_as_it_was"),
        ("unknown task", "test_tasks_come_after_tasks_that_are_known"),
        ("nothing to run", "test_every_task_says_what_to_run"),
        ("cannot bear failure", "test_failed_tasks_are_no_reason_to_fail"),
    ],
)
def test_a_strategy_that_breaks_a_rule_is_found_out(rule: str, proof: str) -> None:
    class Suite(StrategyConformance):
        def make(self) -> Strategy:
            return Broken(rule)

    with pytest.raises((AssertionError, ValueError)):
        getattr(Suite(), proof)()
