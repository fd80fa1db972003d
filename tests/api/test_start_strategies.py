"""Runs that a strategy leads, begun and gone on with from Python."""

from random import Random
from typing import Any

import pytest
from tests.api.world import World, held, quick
from tests.cli.world import HELD, QUICK

import budwood
from budwood import Strategy, TaskSpec, Told, UsageError


class Count(Strategy):
    """Asks for some tasks, one after the other."""

    def __init__(self, steps: int = 3, *, command: str = QUICK) -> None:
        self.steps = steps
        self._command = command
        self.told: list[Told] = []

    def ask(self, number: int, random: Random) -> list[TaskSpec]:
        return [budwood.command(self._command, id=f"step-{number}")] if number < self.steps else []

    def tell(self, told: Told) -> None:
        self.told.append(told)


class Vague(Count):
    """Does not keep what it was made with."""

    def __init__(self, *steps: int) -> None:
        super().__init__(len(steps), command=HELD)


class Doubling(Strategy):
    """Keeps something else under the name of its argument, and changes what it was given."""

    def __init__(self, points: list[int], *, command: str = QUICK) -> None:
        self.points = [point * 2 for point in points]
        self.command = command
        points.clear()

    def ask(self, number: int, random: Random) -> list[TaskSpec]:
        return [budwood.command(self.command, id=f"point-{point}") for point in self.points[number : number + 1]]

    def tell(self, told: Told) -> None:
        pass


def test_a_strategy_leads_a_run_and_its_tasks_get_the_settings_of_all(world: World) -> None:
    strategy = Count(3)
    run = budwood.start(strategy=strategy, name="climb", retries=4, window=2)
    assert run.wait().counts["done"] == 3
    assert [told.task.id for told in strategy.told][:2] == ["step-0", "step-1"]
    state = world.state("climb")
    assert {each.spec.retries for each in state.tasks} == {4}
    assert (state.strategy, state.options) == ("tests.api.test_start_strategies:Count", {"steps": 3})
    assert state.settings.window == 2


def test_a_strategy_that_was_told_something_is_not_used_again(world: World) -> None:
    strategy = Count(1)
    budwood.start(strategy=strategy, name="climb").wait()
    with pytest.raises(UsageError, match="has led a run already"):
        budwood.start(strategy=strategy)
    with pytest.raises(UsageError, match="has led a run already"):
        budwood.start(strategy=strategy, name="climb", again=True)


def test_a_strategys_run_goes_on_with_a_new_object_as_it_was_made(world: World) -> None:
    run = budwood.start(strategy=Count(3, command=held("x").run), name="climb")  # type: ignore[arg-type]
    world.wait_began("step-0")
    run.stop(now=True)
    assert run.wait().exit_code == 130
    with pytest.raises(UsageError, match=r"is led by .*Count with .*'steps': 3.* not by .*'steps': 4"):
        budwood.resume("climb", strategy=Count(4, command=held("x").run))  # type: ignore[arg-type]
    world.let_go()
    new = Count(3, command=held("x").run)  # type: ignore[arg-type]
    again = budwood.resume("climb", strategy=new)
    assert again.wait().counts["done"] == 3
    assert [told.task.id for told in new.told] == ["step-0", "step-1", "step-2"]
    assert world.lines("began-step-0") == ["1"]


def test_a_finished_run_keeps_its_strategy_options_and_seed(world: World) -> None:
    first = budwood.start(strategy=Count(1), name="climb", seed=5)
    first.wait()
    changed: list[tuple[dict[str, Any], str]] = [
        ({"strategy": Count(2), "seed": 5}, "keeps its strategy"),
        ({"strategy": Vague(1), "seed": 5}, "keeps its strategy"),
        ({"what": [quick("step-0")], "seed": 5}, "keeps its strategy"),
        ({"what": [quick("other")], "seed": 5}, "keeps its strategy"),
        ({"strategy": Count(1), "seed": 6}, "has seed 5; a run keeps its seed"),
        ({"strategy": Count(1), "seed": 5, "window": 3}, "keeps its window"),
    ]
    for given, why in changed:
        with pytest.raises(UsageError, match=why) as caught:
            budwood.start(name="climb", **given)
        assert caught.value.hint == "again=True makes a new run"
    same = budwood.start(strategy=Count(1), name="climb", seed=5)
    assert (same.id, same.is_driven, same.wait().exit_code) == (first.id, False, 0)
    assert budwood.start(strategy=Count(2), name="climb", again=True).wait().counts["done"] == 2


def test_a_finished_run_of_tasks_keeps_having_none_but_them_and_its_seed(world: World) -> None:
    budwood.start([quick("a")], name="night").wait()
    with pytest.raises(UsageError, match="keeps its strategy"):
        budwood.start(strategy=Count(1), name="night")
    with pytest.raises(UsageError, match="keeps its seed"):
        budwood.start([quick("a")], name="night", seed=6)
    assert budwood.start([quick("a")], name="night", slots=3).wait().exit_code == 0


def test_a_run_that_was_left_says_in_python_how_to_make_another(world: World) -> None:
    run = budwood.start(strategy=Count(1, command=HELD), name="climb")
    world.wait_began("step-0")
    run.stop(now=True)
    run.wait()
    with pytest.raises(UsageError, match="keeps its strategy") as caught:
        budwood.start(strategy=Count(2, command=HELD), name="climb")
    assert caught.value.hint == "again=True makes a new run"


def test_a_strategys_run_goes_on_by_its_name_alone(world: World) -> None:
    run = budwood.start(strategy=Count(2, command=held("x").run), name="climb")  # type: ignore[arg-type]
    world.wait_began("step-0")
    run.stop(now=True)
    run.wait()
    world.let_go()
    assert budwood.resume("climb").wait().counts["done"] == 2


def test_a_strategy_whose_options_are_unknown_goes_on_only_with_an_object(world: World) -> None:
    run = budwood.start(strategy=Vague(1, 2), name="vague")
    world.wait_began("step-0")
    run.stop(now=True)
    run.wait()
    world.let_go()
    with pytest.raises(UsageError, match=r"the strategy of run vague is an object of .*:Vague that only") as caught:
        budwood.resume("vague")
    assert 'budwood.resume("vague", strategy=' in (caught.value.hint or "")
    assert 'budwood.resume("vague", strategy=' in world.call("resume", "vague", code=2).err
    assert budwood.resume("vague", strategy=Vague(1, 2)).wait().counts["done"] == 2


def test_a_strategy_is_made_again_with_what_it_was_given_not_with_what_it_keeps(world: World) -> None:
    given = [1, 2]
    run = budwood.start(strategy=Doubling(given, command=HELD), name="doubling")
    world.wait_began("point-2")
    run.stop(now=True)
    run.wait()
    assert world.state("doubling").options == {"points": [1, 2], "command": HELD}
    world.let_go()
    assert budwood.resume("doubling").wait().counts["done"] == 2
    assert [str(task.id) for task in budwood.open_run("doubling").tasks()] == ["point-2", "point-4"]


def test_a_class_inside_a_function_goes_on_only_with_an_object(world: World) -> None:
    class Inner(Count):
        pass

    run = budwood.start(strategy=Inner(2, command=HELD), name="inner")
    world.wait_began("step-0")
    run.stop(now=True)
    run.wait()
    world.let_go()
    with pytest.raises(UsageError, match="only its program can make"):
        budwood.resume("inner")
    assert budwood.resume("inner", strategy=Inner(2)).wait().counts["done"] == 2


def test_a_strategy_decides_about_tasks_itself(world: World) -> None:
    with pytest.raises(UsageError, match="decides about tasks"):
        budwood.start([quick("a")], strategy=Count(1))


def test_a_strategy_by_name_is_imported_from_the_project(world: World) -> None:
    world.write(
        "climb_once.py",
        """
        import budwood

        class Once(budwood.Strategy):
            def __init__(self, word):
                self.word = word

            def ask(self, number, random):
                return [] if number else [budwood.command(["echo", self.word], id="say")]

            def tell(self, told):
                pass
        """,
    )
    run = budwood.start(strategy="climb_once:Once", options={"word": "hi"}, name="named")
    assert run.wait().counts["done"] == 1
    with pytest.raises(UsageError, match="cannot be imported"):
        budwood.start(strategy="nowhere:Once")


def test_a_strategy_that_cannot_even_be_looked_at_is_an_error_of_start(world: World) -> None:
    class Broken(Count):
        @property
        def window(self) -> int:  # type: ignore[override]
            raise ValueError("no window")

    with pytest.raises(ValueError, match="no window"):
        budwood.start(strategy=Broken(1), name="night")
    assert not world.has_store


def test_what_is_no_answer_is_said_with_what_is_one(world: World) -> None:
    class Forgetful(Count):
        def ask(self, number: int, random: Random) -> list[TaskSpec]:
            return None  # type: ignore[return-value]

    verdict = budwood.start(strategy=Forgetful(1), name="forgetful").wait()
    said = "the strategy failed: ask(0) returned None, and no list of tasks; return [task, …]; an empty list ends the"
    assert verdict.reason.startswith(said)
