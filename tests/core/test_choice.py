"""What a search has come to: a person's word first, then the strategy's, then the scores."""

from typing import Literal

import pytest

from budwood._core.choice import choice, competes, eligible, goal_is_met, why_undecided
from budwood._core.model import Left, Review, TaskPhase, TaskSpec
from budwood._core.scores import Judgement, Score, Scoring, Stage
from budwood._core.state import Made, RunState, TaskState

SCORING = Scoring(stages=(Stage(run="score"),))
Decision = Literal["chosen", "kept", "rejected"]


def search(scores: dict[str, float | None], *, strategy: str = "best-of") -> RunState:
    """Make a run whose tasks are done, each with a score; None is one that failed."""
    state = RunState()
    state.strategy = strategy
    for number, (name, value) in enumerate(scores.items()):
        task = TaskState(number=number, spec=TaskSpec(id=name, run="true", score=SCORING))
        task.phase = TaskPhase.FAILED if value is None else TaskPhase.DONE
        if value is not None:
            task.score = Score(value=value, metrics={"score": value})
            task.made = Made(1, Left(base="b", tree="t", candidate=name, commit="c", ref="r", files=1), None)
        state.tasks.append(task)
        state.by_id[name] = task
    return state


def judge(state: RunState, **decisions: Decision) -> None:
    for name, decision in decisions.items():
        state.task(name).judgement = Judgement(task=name, decision=decision, why="because")


def chosen(state: RunState) -> tuple[object, str] | None:
    found = choice(state)
    return None if found is None else (found.task.spec.id, found.by)


def test_while_nothing_is_decided_the_best_score_counts_if_it_is_not_worse_than_the_start() -> None:
    assert chosen(search({"root": 1, "a": 2, "b": 3, "c": None})) == ("b", "score")
    assert chosen(search({"root": 5, "a": 2, "b": 3})) is None
    assert chosen(search({"root": None, "a": 2, "b": 3})) == ("b", "score")


def test_the_strategy_has_its_way_and_a_person_more_so() -> None:
    state = search({"root": 1, "a": 2, "b": 3, "c": 4})
    judge(state, a="kept", b="chosen", c="kept")
    assert chosen(state) == ("b", "strategy")
    state.task("a").review = Review.APPROVED
    assert chosen(state) == ("a", "person")
    state.task("c").review = Review.APPROVED
    assert chosen(state) == ("c", "person")
    state.task("b").review = Review.APPROVED
    assert chosen(state) == ("b", "person")


def test_who_only_helps_a_search_is_no_candidate_and_no_success() -> None:
    state = search({"root": 1, "muse": 9, "a": None}, strategy="beam")
    state.task("muse").spec = TaskSpec(id="muse", run="true", helps=True)
    judge(state, muse="kept")
    assert competes(state, state.task("muse"))  # so that nobody merges it beside what is chosen
    assert (choice(state), eligible(state), goal_is_met(state)) == (None, [], False)
    state.task("muse").review = Review.APPROVED
    assert choice(state) is None


def test_what_a_person_rejects_is_not_the_best() -> None:
    state = search({"root": 1, "a": 2, "b": 3})
    judge(state, b="chosen")
    state.task("b").review = Review.REJECTED
    assert chosen(state) == ("a", "score")


@pytest.mark.parametrize("reason", ["person", "undecided"])
def test_where_a_person_is_to_choose_no_score_does(reason: str) -> None:
    state = search({"root": 1, "a": 2, "b": 3})
    judge(state, a="kept", b="kept")
    state.end_reason = reason
    assert chosen(state) is None
    assert goal_is_met(state)


def test_tasks_of_a_plan_do_not_compete() -> None:
    state = search({"a": 2, "b": None}, strategy="plan")
    assert not any(competes(state, task) for task in state.tasks)
    assert chosen(state) is None
    assert not goal_is_met(state)


def test_a_search_has_reached_its_goal_with_one_candidate_whatever_became_of_the_others() -> None:
    state = search({"root": 1, "a": 2, "b": None})
    judge(state, a="chosen", b="rejected")
    assert goal_is_met(state)
    judge(state, a="rejected")
    assert not goal_is_met(state)
    assert not goal_is_met(search({"root": 1, "a": None}))


def test_who_was_only_asked_for_ideas_is_no_goal() -> None:
    state = search({"root": 1, "root-ideas": 0, "d1-e0001": None}, strategy="beam")
    asked = state.task("root-ideas")
    asked.spec, asked.score = TaskSpec(id="root-ideas", prompt="ideas?"), None
    decisions: dict[str, Decision] = {"root-ideas": "kept", "d1-e0001": "rejected"}
    judge(state, **decisions)
    assert not goal_is_met(state)


def test_a_search_that_found_nothing_as_good_as_its_start_has_not_reached_its_goal() -> None:
    assert not goal_is_met(search({"root": 5, "m1": 2}, strategy="mcts"))
    assert goal_is_met(search({"root": 5, "m1": 2, "m2": 5}, strategy="mcts"))


def test_a_search_that_has_come_to_nothing_says_why() -> None:
    state = search({"root": 5, "a": 2, "b": 3}, strategy="mcts")
    assert why_undecided(state) == ""  # more may come
    state.end_reason = "attempts"
    assert why_undecided(state) == "attempts; no valid score is as good as that of root"
    judge(state, a="rejected", b="rejected")
    assert why_undecided(state) == "attempts; b: because; 1 more rejected"
    judge(state, b="chosen")
    state.task("b").review = Review.REJECTED  # by a person, who knows why
    assert why_undecided(state) == ""


def test_what_ranks_first_need_not_have_the_highest_primary_metric_and_is_not_said_to() -> None:
    state = search({"root": 1, "a": 2}, strategy="mcts")
    assert choice(state) == (state.task("a"), "score", "its scores rank it first")
    state.asking = True
    assert choice(state) == (state.task("a"), "score", "its scores rank it first so far")
