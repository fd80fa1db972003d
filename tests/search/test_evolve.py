"""evolve: who is grown from, who is shown, what lives on and what is told of it; the same however often it is asked."""

import math
from collections.abc import Mapping, Sequence
from typing import ClassVar

import msgspec
import pytest
from tests.search.growing import SCORING, Walk, score

from budwood._core.model import TaskPhase, TaskSpec
from budwood._core.scores import Score
from budwood.errors import UsageError
from budwood.strategies import Strategy, Told
from budwood.strategies.base import random_of
from budwood.strategies.evolve import EvolveStrategy
from budwood.testing.strategies import StrategyConformance

FEATURES = {"size": {"low": 0, "high": 10, "bins": 5}}


def make(**options: object) -> EvolveStrategy:
    return EvolveStrategy(**{"scoring": SCORING, "prompt": "Make it faster.", **options})  # type: ignore[arg-type]


class Sized(Walk):
    """Attempts whose candidates have a size as well."""

    def score(self, task: TaskSpec) -> Score:
        made = super().score(task)
        return Score(value=made.value, metrics={**made.metrics, "size": len(task.id) * 3.0}, valid=made.valid)  # type: ignore[arg-type]


class TestSteady(StrategyConformance):
    asks = 45
    options: ClassVar[Mapping[str, object]] = {"islands": 2, "population": 4, "migrate_every": 6}

    def make(self) -> Strategy:
        self.walk = Sized()
        return make(**{"attempts": 40, "crossover": 0.5, **self.options})

    def work(self, task: TaskSpec) -> object:
        return self.walk.work(task)

    def score(self, task: TaskSpec) -> Score | None:
        return self.walk.score(task)


class TestGenerations(TestSteady):
    asks = 12
    options: ClassVar[Mapping[str, object]] = {
        "islands": 2,
        "population": 4,
        "offspring": 3,
        "elites": 2,
        "migrate_every": 12,
    }


class TestGrid(TestSteady):
    options: ClassVar[Mapping[str, object]] = {"features": FEATURES}


class TestGridByGenerations(TestSteady):
    asks = 12
    options: ClassVar[Mapping[str, object]] = {"features": FEATURES, "offspring": 5}


def told(task: TaskSpec, value: float | None, *, number: int = 0, tree: str = "", why: str = "") -> Told:
    """What became of a task; without a value it failed."""
    made = (
        None if value is None else Score(value=value, metrics={"score": value, "size": value}, valid=not why, why=why)
    )
    state = TaskPhase.FAILED if value is None else TaskPhase.DONE
    return Told(task=task, number=number, ask=number, state=state, score=made, tree=tree)


def grow(strategy: EvolveStrategy, values: Sequence[float | None], *, seed: int = 0) -> list[TaskSpec]:
    """Ask for tasks and tell each its end, answer by answer; the first is the root."""
    tasks: list[TaskSpec] = []
    asks = 0
    while len(tasks) < len(values):
        answer = list(strategy.ask(asks, random_of(seed, asks)))
        if not answer:
            break
        strategy.asked(asks, answer)
        for task in answer:
            if len(tasks) < len(values):
                strategy.tell(told(task, values[len(tasks)], number=len(tasks), tree=f"tree {len(tasks)}"))
            tasks.append(task)
        asks += 1
    return tasks


def alive(strategy: EvolveStrategy) -> list[list[str]]:
    return [[member.name for member in island.members] for island in strategy.islands]


def test_the_first_answer_is_the_root_and_changes_nothing() -> None:
    [root] = make().ask(0, random_of(0, 0))
    assert (root.id, root.run, root.after, root.score) == ("root", "true", (), SCORING)


def test_an_attempt_grows_from_a_candidate_is_scored_and_knows_its_island() -> None:
    task = grow(make(islands=2), [1.0, 2.0, 3.0])[2]
    assert (task.id, task.after, task.score, task.run) == ("e2", ("root",), SCORING, None)
    assert (task.env["BUDWOOD_ISLAND"], task.description) == ("2", "island 2, grown from root")


def test_islands_take_turns_and_each_grows_from_its_own() -> None:
    strategy = make(islands=2, population=3, migrate_every=0, crossover=0)
    tasks = grow(strategy, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0])
    assert alive(strategy) == [["e1", "e3", "e5"], ["e2", "e4", "e6"]]
    odd = {str(task.id) for task in tasks[1::2]}
    assert all(set(task.after) <= odd | {"root"} for task in tasks[1::2])


def test_the_best_migrate_when_it_is_time() -> None:
    strategy = make(islands=2, population=5, migrate_every=4, crossover=0)
    grow(strategy, [1.0, 2.0, 3.0, 4.0])
    assert not {"e1", "e3"} & set(alive(strategy)[1])
    [task] = strategy.ask(4, random_of(0, 4))
    strategy.asked(4, [task])
    strategy.tell(told(task, 5.0, number=4))
    assert "e3" in alive(strategy)[1]
    assert "e4" in alive(strategy)[0]


def test_who_leaves_the_population_is_judged_once_and_with_the_reason() -> None:
    strategy = make(population=2, crossover=0)
    grow(strategy, [1.0, 2.0, 3.0])
    [judgement] = strategy.judged(3)
    assert (judgement.task, judgement.decision, judgement.why) == ("root", "pruned", "e2 is better")
    [task] = strategy.ask(3, random_of(0, 3))
    strategy.asked(3, [task])
    assert list(strategy.judged(4)) == []


def test_one_that_migrated_has_not_left_while_it_is_anywhere() -> None:
    strategy = make(islands=2, population=1, migrate_every=0, crossover=0)
    grow(strategy, [1.0, 2.0])
    assert list(strategy.judged(2)) == []  # root is still in the second island
    strategy = make(islands=2, population=1, migrate_every=0, crossover=0)
    grow(strategy, [1.0, 2.0, 3.0])
    assert [each.task for each in strategy.judged(3)] == ["root"]


def test_a_candidate_that_is_not_let_in_is_pruned_with_the_reason() -> None:
    strategy = make(population=1, crossover=0)
    grow(strategy, [5.0, 4.0])
    [judgement] = strategy.judged(2)
    assert (judgement.decision, judgement.why) == ("pruned", "root is as good or better")


@pytest.mark.parametrize(
    ("end", "why"),
    [
        (Score(value=9.0, metrics={"score": 9.0, "size": 1.0}, valid=False, why="tests failed"), "tests failed"),
        (Score(value=math.nan, metrics={"score": math.nan, "size": 1.0}), "it has no score to compare"),
        (Score(value=9.0, metrics={"score": 9.0}), "its score has no size, which features names"),
        (None, "it has no score to compare"),
    ],
)
def test_a_score_that_cannot_be_compared_never_lives_on(end: Score | None, why: str) -> None:
    strategy = make(features=FEATURES)
    [task] = grow(strategy, [1.0, 2.0])[1:]
    [task] = strategy.ask(2, random_of(0, 2))
    strategy.asked(2, [task])
    strategy.tell(Told(task=task, number=2, ask=2, state=TaskPhase.DONE, score=end))
    assert [(each.decision, each.why) for each in strategy.judged(3)] == [("rejected", why)]
    assert "e2" not in alive(strategy)[0]


def test_a_root_that_has_no_place_in_the_grid_is_no_start() -> None:
    strategy = make(features={"speed": {"low": 0, "high": 1, "bins": 2}})
    grow(strategy, [1.0])
    assert (list(strategy.ask(1, random_of(0, 1))), strategy.reason(1)) == ([], "root_failed")
    assert [each.why for each in strategy.judged(1)] == ["its score has no speed, which features names"]


def test_without_a_score_of_the_root_there_is_no_search() -> None:
    for value in (None, math.nan, math.inf):
        strategy = make()
        grow(strategy, [value])
        assert (list(strategy.ask(1, random_of(0, 1))), strategy.reason(1)) == ([], "root_failed")


def test_nothing_ends_before_the_root_has() -> None:
    strategy = make()
    strategy.asked(0, strategy.ask(0, random_of(0, 0)))
    assert strategy.reason(1) == ""


def test_a_generation_is_asked_for_at_once_and_lives_when_all_of_it_has_ended() -> None:
    strategy = make(islands=2, offspring=3, population=3, crossover=0)
    assert (strategy.window, strategy.barrier) == (1, True)
    grow(strategy, [1.0])
    answer = list(strategy.ask(1, random_of(0, 1)))
    strategy.asked(1, answer)
    assert [task.id for task in answer] == ["e1", "e2", "e3", "e4", "e5", "e6"]
    assert {task.after for task in answer} == {("root",)}
    for number, task in enumerate(answer[:5], start=1):
        strategy.tell(told(task, 1.0 + number, number=number))
        assert alive(strategy) == [["root"], ["root"]]
    strategy.tell(told(answer[5], None, number=6))
    assert alive(strategy) == [["root", "e3", "e5"], ["root", "e2", "e4"]]


def test_a_generation_is_cut_where_the_attempts_end() -> None:
    strategy = make(offspring=4, attempts=6)
    tasks = grow(strategy, [1.0] + [2.0] * 6)
    assert len(tasks) == 7
    assert (list(strategy.ask(3, random_of(0, 3))), strategy.reason(3)) == ([], "attempts")


def test_what_lives_on_is_grown_from_and_what_has_left_is_not() -> None:
    strategy = make(population=2, tournament=4, crossover=0)
    tasks = grow(strategy, [1.0, 5.0, 6.0, *[0.5] * 20])
    assert {task.after for task in tasks[4:]} <= {("e1",), ("e2",)}


def ancestors(tasks: Sequence[TaskSpec], name: str) -> set[str]:
    """Collect all that a task stands on, by whichever parent, and itself."""
    after = {str(task.id): tuple(map(str, task.after)) for task in tasks}
    return {name}.union(*(ancestors(tasks, parent) for parent in after[name]))


@pytest.mark.parametrize("seed", range(12))
def test_two_parents_are_merged_unless_one_stands_on_the_other(seed: int) -> None:
    tasks = grow(make(crossover=0.6, inspirations=2), [1.0] + [2.0 + n * 7 % 11 / 10 for n in range(45)], seed=seed)
    merged = [task for task in tasks if task.after[1:]]
    assert merged
    for task in merged:
        first, second = map(str, task.after)
        assert task.allow_unchanged
        assert first not in ancestors(tasks, second)
        assert second not in ancestors(tasks, first)
    for task in tasks[1:]:
        assert not ancestors(tasks, str(task.id)) & set(map(str, task.reads))


def test_two_that_did_not_fit_together_are_not_tried_again() -> None:
    strategy = make(population=2, crossover=1.0)
    grow(strategy, [1.0])
    siblings = [each for number in (1, 2) for each in strategy.ask(number, random_of(0, number))]
    for number, task in enumerate(siblings, start=1):  # side by side, as a window lets them be
        grown = msgspec.structs.replace(task, id=f"e{number}")
        strategy.asked(number, [grown])
        siblings[number - 1] = grown
    for number, task in enumerate(siblings, start=1):
        strategy.tell(told(task, 4.0 - number, number=number))
    pairs: list[frozenset[object]] = []
    for number in range(3, 20):
        [task] = strategy.ask(number, random_of(0, number))
        strategy.asked(number, [task])
        clash = len(task.after) == 2
        pairs += [frozenset(task.after)] if clash else []
        strategy.tell(
            Told(task=task, number=number, ask=number, state=TaskPhase.FAILED, error="conflict" if clash else "exit")
        )
    assert pairs == [{"e1", "e2"}]


def test_without_crossover_every_attempt_has_one_parent() -> None:
    tasks = grow(make(crossover=0), [1.0] + [2.0 + n / 10 for n in range(30)])
    assert {len(task.after) for task in tasks[1:]} == {1}


def test_an_attempt_is_shown_others_that_did_well_and_nothing_that_it_has_already() -> None:
    tasks = grow(make(inspirations=2, crossover=0), [1.0] + [2.0 + n / 10 for n in range(30)])
    shown = [task for task in tasks if task.reads]
    assert shown
    for task in shown:
        assert len(task.reads) <= 2
        assert not {*task.reads} & {*task.after, "root"}
        for name in task.reads:
            assert f"\n- {name} (" in task.prompt.partition("# Others that did well")[2]


def test_the_best_of_all_is_shown_where_it_is_not_stood_on() -> None:
    strategy = make(inspirations=1, crossover=0, islands=2, migrate_every=0)
    tasks = grow(strategy, [1.0, 9.0, *[1.5 + n / 100 for n in range(10)]])
    assert [task.reads for task in tasks[2::2]] == [("e1",)] * len(tasks[2::2])


def test_without_inspirations_and_lessons_an_attempt_is_told_its_branch_alone() -> None:
    tasks = grow(make(inspirations=0, lessons_shown=0), [1.0, 2.0, 3.0, 4.0])
    assert not any(task.reads for task in tasks)
    assert not any("# Others" in task.prompt or "# Lessons" in task.prompt for task in tasks)


def test_lessons_of_those_it_grows_from_come_first() -> None:
    strategy = make(population=1, crossover=0, inspirations=0)
    grow(strategy, [1.0])
    for number, (value, lesson) in enumerate([(3.0, "caching pays"), (2.0, "threads do not")], start=1):
        [task] = strategy.ask(number, random_of(0, number))
        strategy.asked(number, [task])
        result = {"lesson.md": lesson}
        strategy.tell(
            Told(task=task, number=number, ask=number, state=TaskPhase.DONE, score=score(value), result=result)
        )
    [task] = strategy.ask(3, random_of(0, 3))
    assert "- e1 (3): caching pays\n- e2 (2): threads do not\n" in task.prompt


def test_patience_ends_what_brings_no_gain() -> None:
    strategy = make(patience=3)
    tasks = grow(strategy, [1.0, 2.0, 1.5, None, 2.0, 3.0])
    assert len(tasks) == 5
    assert strategy.reason(5) == "patience"
    assert len(grow(make(patience=3), [1.0, 2.0, 1.5, None, 3.0, 1.0, 1.0, 1.0, 9.0])) == 8


def test_a_larger_tournament_makes_a_search_greedier() -> None:
    def parents(**options: object) -> int:
        tasks = grow(make(crossover=0, population=10, **options), [1.0] + [1.0 + (n * 7 % 30) for n in range(60)])
        return len({task.after for task in tasks})

    assert parents(tournament=10) < parents(tournament=1)


def test_elites_live_on_whatever_is_born() -> None:
    def left(elites: int) -> list[str]:
        strategy = make(crossover=0, population=3, offspring=3, elites=elites)
        grow(strategy, [9.0, 8.0, 7.0, 6.0, 1.0, 2.0, 3.0])
        return alive(strategy)[0]

    assert left(0) == ["e4", "e5", "e6"]
    assert left(1) == ["root", "e5", "e6"]
    assert left(2) == ["root", "e1", "e6"]


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"attempts": 0}, "attempts is 0"),
        ({"islands": 0}, "islands is 0"),
        ({"population": 0}, "population is 0"),
        ({"offspring": 0}, "offspring is 0"),
        ({"tournament": 0}, "tournament is 0"),
        ({"crossover": 1.5}, "crossover is 1.5; it takes a number from 0 to 1"),
        ({"inspirations": -1}, "inspirations is -1"),
        ({"migrate_every": 1.5}, "migrate_every is 1.5"),
        ({"patience": 0}, "patience is 0"),
        ({"prompt": " \n"}, r"prompt is ' \\n'"),
        ({"features": {}}, "features is {}"),
        ({"features": 3}, "features is 3"),
        ({"features": {"size": [0, 1, 2]}}, "features.size is"),
        ({"features": {"size": {"low": 1, "high": 1, "bins": 2}}}, "features.size goes from 1 to 1"),
        ({"features": {"size": {"low": "a", "high": 1, "bins": 2}}}, "features.size.low is 'a'"),
        ({"features": {"size": {"low": 0, "high": 1, "bins": 0}}}, "features.size.bins is 0"),
        ({"features": FEATURES, "population": 5}, "population is 5, and with features"),
        ({"features": FEATURES, "offspring": 5, "elites": 1}, "elites is 1, and with features"),
        ({"elites": 1}, "elites is 1, and without offspring"),
        ({"elites": 4, "population": 4, "offspring": 3}, "elites is 4 and population 4"),
    ],
)
def test_options_that_make_no_sense_are_refused_by_name(options: dict[str, object], what: str) -> None:
    with pytest.raises(UsageError, match=what):
        make(**options)
