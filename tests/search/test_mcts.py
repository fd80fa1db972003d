"""mcts: where it grows, what it gives up, what it hands on; the same at any window's order of ends."""

import math

import pytest
from tests.search.growing import SCORING, Walk, ask, grow, make, score, tell

from budwood._core.model import TaskSpec
from budwood._core.scores import Score, Scoring
from budwood.errors import UsageError
from budwood.strategies import Strategy
from budwood.strategies.base import random_of
from budwood.strategies.mcts import MctsStrategy
from budwood.strategies.mcts_tree import Node, Tree
from budwood.testing.strategies import StrategyConformance
from budwood.testing.strategy_play import Play


class Of8(MctsStrategy):
    window = 8


class Of1(MctsStrategy):
    window = 1


class TestMcts(StrategyConformance):
    asks = 35
    kind: type[MctsStrategy] = Of8

    def make(self) -> Strategy:
        self.walk = Walk()
        return self.kind(scoring=SCORING, prompt="Make it faster.", attempts=30, patience=3, max_children=3)

    def work(self, task: TaskSpec) -> object:
        return self.walk.work(task)

    def score(self, task: TaskSpec) -> Score | None:
        return self.walk.score(task)


class TestMctsOneByOne(TestMcts):
    kind = Of1


def closed(strategy: MctsStrategy) -> list[str]:
    return [node.id for node in strategy.tree.nodes.values() if node.closed]


def test_the_first_answer_is_the_root_and_changes_nothing() -> None:
    [root] = make().ask(0, random_of(0, 0))
    assert (root.id, root.run, root.after, root.score) == ("root", "true", (), SCORING)


def test_an_attempt_grows_from_one_candidate_and_is_scored() -> None:
    strategy = make()
    task = grow(strategy, {"root": 1.0, "m1": 2.0})[1]
    assert (task.after, task.run, task.score, task.allow_unchanged) == (("root",), None, SCORING, False)


def test_without_a_score_of_the_root_there_is_no_search() -> None:
    for value in (None, math.nan, math.inf):
        strategy = make()
        grow(strategy, {"root": value})
        assert (list(strategy.ask(1, random_of(0, 1))), strategy.reason(1)) == ([], "root_failed")


def test_it_ends_after_its_attempts_and_says_so() -> None:
    play = Walk().play(make(attempts=20)).go(100)
    assert (len(play.answers), play.reason) == (21, "attempts")


def test_it_grows_where_scores_promise_most() -> None:
    strategy = make(synthesis=False, max_children=2)
    tasks = grow(strategy, {"root": 1.0, "m1": 0.9, "m2": 3.0, "m3": 3.5, "m4": 3.6})
    assert [task.after for task in tasks[1:]] == [("root",), ("root",), ("m2",), ("m2",)]


def test_a_bad_child_is_no_reason_to_go_on_from_it() -> None:
    strategy = MctsStrategy(scoring=SCORING, prompt="Go.")
    tasks = grow(strategy, {"root": 1.0, "m1": 2.0, "m2": 0.5, "m3": None, "m4": 1.9})
    assert [task.after[0] for task in tasks[1:]] == ["root", "m1", "m1", "m1"]
    assert ask(strategy, 5).after == ("m1",)


def test_what_is_under_way_sends_the_next_attempts_elsewhere_and_its_end_takes_that_back() -> None:
    strategy = make(synthesis=False, max_children=2, exploration=2.0)
    grow(strategy, {"root": 1.0, "m1": 2.0, "m2": 2.1})
    parents = [ask(strategy, number).after[0] for number in (3, 4)]
    assert parents == ["m2", "m1"]
    nodes = strategy.tree.nodes
    assert [nodes[name].under_way for name in ("root", "m1", "m2")] == [2, 1, 1]
    tell(strategy, "m4", None)
    tell(strategy, "m3", 2.2)
    assert [nodes[name].under_way for name in ("root", "m1", "m2", "m3")] == [0, 0, 0, 0]
    assert [nodes[name].visits for name in ("root", "m1", "m2", "m3")] == [5, 2, 2, 1]


def test_a_failed_attempt_counts_as_a_visit_of_no_value() -> None:
    strategy = make(synthesis=False, greed=0.0, max_children=2)
    grow(strategy, {"root": 1.0, "m1": 2.0, "m2": 1.0})
    assert strategy.tree.value(strategy.tree.nodes["m1"]) == 1.0
    assert ask(strategy, 3).after == ("m1",)
    tell(strategy, "m3", None)
    assert strategy.tree.value(strategy.tree.nodes["m1"]) == 0.5


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_exploration_means_the_same_whatever_scores_are_measured_in(scale: float) -> None:
    def walk(scale: float) -> list[tuple[TaskSpec, ...]]:
        steps = Walk()
        scoring = Scoring(stages=SCORING.stages, rank="value")
        strategy = make(scoring=scoring, lessons=False)
        play = Play(strategy, steps.work, seed=1, score=lambda task: score(scale * (10 + steps.values[str(task.id)])))
        return play.go(40).answers

    def parents(answers: list[tuple[TaskSpec, ...]]) -> list[object]:
        return [task.after for answer in answers for task in answer]

    assert parents(walk(scale)) == parents(walk(1.0))


def test_one_disaster_does_not_make_all_others_look_alike() -> None:
    strategy = make(synthesis=False, max_children=3, widening=3.0)
    grow(strategy, {"root": 1.0})
    for number, value in enumerate((1.2, 1.1, -1e9), start=1):
        ask(strategy, number)
        tell(strategy, f"m{number}", value)
    values = [strategy.tree.value(strategy.tree.nodes[name]) for name in ("m1", "m2", "m3")]
    assert values == pytest.approx([1.0, 0.75, 0.0])


def test_a_branch_without_gain_is_closed_and_judged_with_the_reason() -> None:
    strategy = make(synthesis=False, patience=3, max_children=2, exploration=0.0)
    grow(strategy, {"root": 1.0, "m1": 5.0, "m2": 1.5, "m3": 4.0, "m4": None})
    assert closed(strategy) == []
    task = ask(strategy, 5)
    tell(strategy, str(task.id), None)
    assert closed(strategy) == ["m1"]
    [judgement] = strategy.judged(6)
    assert (judgement.task, judgement.decision) == ("m1", "pruned")
    assert judgement.why == "3 attempts in a row brought its branch no gain"
    assert ask(strategy, 6).after == ("m2",)
    assert list(strategy.judged(7)) == []


def test_a_gain_that_comes_late_opens_its_branch_again() -> None:
    strategy = make(synthesis=False, patience=2, max_children=3, exploration=0.0)
    grow(strategy, {"root": 1.0, "m1": 5.0})
    names = [str(ask(strategy, number).id) for number in range(2, 8)]
    below = [name for name in names if strategy.tree.nodes[name].parent is strategy.tree.nodes["m1"]]
    assert len(below) >= 3
    tell(strategy, below[0], None)
    tell(strategy, below[1], None)
    assert closed(strategy) == ["m1"]
    tell(strategy, below[2], 6.0)
    assert closed(strategy) == []
    assert [(each.task, each.decision) for each in strategy.judged(8)] == [("m1", "pruned"), ("m1", "promoted")]


def test_when_all_is_dead_it_begins_anew_at_the_best_and_then_at_the_root() -> None:
    strategy = make(synthesis=False, patience=1, max_children=1, restarts=2)
    tasks = grow(strategy, {"root": 1.0, "m1": 2.0, "m2": None, "m3": None})
    assert [task.after for task in tasks[1:]] == [("root",), ("m1",), ("m1",)]
    assert strategy.tree.restarts == 2
    assert ask(strategy, 4).after == ("root",)
    tell(strategy, "m4", None)
    assert (list(strategy.ask(5, random_of(0, 5))), strategy.reason(5)) == ([], "dead")


def test_a_branch_is_no_deeper_than_it_may_be() -> None:
    strategy = make(max_depth=2, max_children=2, exploration=0.0)
    tasks = grow(strategy, {"root": 1.0} | {f"m{n}": 1.0 + n for n in range(1, 9)})
    assert max(node.depth for node in strategy.tree.nodes.values()) == 2
    assert {judged.why for judged in strategy.judged(9)} <= {"its branch is as deep as it may be"}
    assert len(tasks) == 9


@pytest.mark.parametrize("kind", [Of1, Of8])
def test_a_search_in_which_everything_fails_ends(kind: type[MctsStrategy]) -> None:
    strategy = kind(scoring=SCORING, prompt="Go.", attempts=1000)
    play = Walk(fails=1.0).play(strategy).go(1000)
    assert play.reason == "dead"
    assert len(play.answers) < 60


def test_equal_scores_are_no_gain_and_the_search_goes_on() -> None:
    values = dict.fromkeys(["root", *(f"m{n}" for n in range(1, 40))], 7.0)
    strategy = make(patience=4, max_children=4)
    tasks = grow(strategy, values)
    assert all(len(task.after) == 1 for task in tasks[1:])
    assert any(node.closed for node in strategy.tree.nodes.values())


def test_a_score_that_is_no_number_is_none() -> None:
    strategy = make(synthesis=False)
    grow(strategy, {"root": 1.0, "m1": math.nan, "m2": math.inf, "m3": -math.inf})
    assert not any(strategy.tree.nodes[name].rank for name in ("m1", "m2", "m3"))


def test_two_children_that_are_both_better_are_merged_once() -> None:
    strategy = make()
    tasks = grow(strategy, {"root": 1.0, "m1": 1.2, "m2": 1.3})
    task = ask(strategy, 3)
    assert (task.after, task.allow_unchanged) == (("m2", "m1"), True)
    assert "what m2 (1.3) and m1 (1.2) made, merged" in task.prompt
    assert len(ask(strategy, 4).after) == 1
    assert "merged" not in tasks[1].prompt


def test_a_merge_with_a_conflict_is_an_attempt_that_came_to_nothing() -> None:
    strategy = make()
    grow(strategy, {"root": 1.0, "m1": 1.2, "m2": 1.3})
    ask(strategy, 3)
    tell(strategy, "m3", None, error="conflict")
    assert (strategy.tree.nodes["m2"].visits, strategy.tree.nodes["m2"].valid) == (2, 1)
    task = ask(strategy, 4)
    assert len(task.after) == 1
    assert "conflict" in task.prompt


def test_without_synthesis_nothing_is_merged() -> None:
    play = Walk().play(make(synthesis=False)).go(60)
    assert {len(task.after) for answer in play.answers[1:] for task in answer} == {1}
    play = Walk().play(make()).go(60)
    assert {len(task.after) for answer in play.answers[1:] for task in answer} == {1, 2}


@pytest.mark.parametrize("window", [1, 4, 8])
def test_what_ends_when_is_no_matter(window: int) -> None:
    """Within a window ends are told in task order, so that decisions are those of the attempts alone."""

    class Windowed(MctsStrategy):
        pass

    Windowed.window = window
    first, second = (Walk().play(Windowed(scoring=SCORING, prompt="Go.", attempts=60)).go(80) for _ in range(2))
    assert first.answers == second.answers
    assert first.judgements == second.judgements
    for number, [task] in enumerate(first.answers):
        behind = {str(earlier.id) for answer in first.answers[: number - window + 1] for earlier in answer}
        assert {str(name) for name in task.after} <= behind | {"root"}


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"attempts": 0}, "attempts is 0"),
        ({"max_children": True}, "max_children is True"),
        ({"patience": 1.5}, "patience is 1.5"),
        ({"restarts": -1}, "restarts is -1"),
        ({"exploration": math.nan}, "exploration is nan"),
        ({"greed": 1.5}, "greed is 1.5"),
        ({"widening": "wide"}, "widening is 'wide'"),
        ({"prompt": " \n"}, r"prompt is ' \\n'"),
    ],
)
def test_options_that_make_no_sense_are_refused_by_name(options: dict[str, object], what: str) -> None:
    with pytest.raises(UsageError, match=what):
        make(**options)


def test_scoring_may_come_as_plain_json() -> None:
    strategy = make(scoring={"stages": [{"run": "./score"}], "direction": "min"})
    [root] = strategy.ask(0, random_of(0, 0))
    assert root.score == Scoring(stages=SCORING.stages, direction="min")


@pytest.mark.slow
def test_an_answer_looks_at_one_path_however_large_the_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = 0
    value = Tree.value

    def counted(tree: Tree, node: Node) -> float:
        nonlocal looks
        looks += 1
        return value(tree, node)

    monkeypatch.setattr(Tree, "value", counted)
    play = Walk().play(make(attempts=10_000, patience=10_000))
    seen: list[int] = []
    for size in (900, 1_000, 9_900, 10_000):
        play.go(size)
        seen.append(looks)
    assert 0 < seen[3] - seen[2] < 3 * (seen[1] - seen[0])
