"""The strategy best-of: attempts are dealt, compared, judged and put together, the same way every time."""

from collections.abc import Callable
from typing import Any

import pytest

from budwood._core.model import TaskPhase, TaskSpec
from budwood._core.scores import Judgement, Score, Scoring, Stage
from budwood.errors import UsageError
from budwood.strategies.base import Strategy, Told, random_of
from budwood.strategies.best_of import BestOfStrategy
from budwood.testing.strategies import StrategyConformance
from budwood.testing.strategy_play import Play

SCORING = Scoring(stages=(Stage(run="make score"),))
Scores = dict[str, float | None]


def scored(scores: Scores) -> Callable[[TaskSpec], Score | None]:
    """Score tasks by name; None is a candidate that is not valid, a missing one has 0."""

    def score(task: TaskSpec) -> Score | None:
        if task.score is None:
            return None
        value = scores.get(str(task.id), 0.0)
        if value is None:
            return Score(valid=False, why="it is no number")
        return Score(value=value, metrics={"score": value})

    return score


def play(scores: Scores | None = None, *, work: Callable[[TaskSpec], object] = lambda _: None, **options: Any) -> Play:
    if scores is not None:
        options["scoring"] = SCORING
    strategy = BestOfStrategy(prompt="Make it fast.", **options)
    return Play(strategy, work, seed=7, score=scored(scores or {})).go(30)


def names(played: Play) -> list[list[str]]:
    return [[str(task.id) for task in answer] for answer in played.answers]


def decisions(played: Play) -> dict[str, str]:
    return {str(each.task): each.decision for each in played.judgements[-1]}


def chosen(played: Play) -> Judgement | None:
    return next((each for each in played.judgements[-1] if each.decision == "chosen"), None)


class TestScored(StrategyConformance):
    def make(self) -> Strategy:
        return BestOfStrategy(prompt="Make it fast.", n=4, scoring=SCORING, hints=["a", "b"], synthesise="union")

    def score(self, task: TaskSpec) -> Score | None:
        return scored({"try-1": 1, "try-2": 3, "try-3": 2, "union-2-3": 5, "union-1-2-3": 6})(task)


class TestJudged(StrategyConformance):
    def make(self) -> Strategy:
        return BestOfStrategy(prompt="Make it fast.", n=3, judge="wise", synthesise="agent")

    def work(self, task: TaskSpec) -> object:
        return {"choice.json": '{"choice": "try-2", "why": "shorter"}'} if task.allow_unchanged else None


# --- attempts ---


def test_hints_agents_and_models_are_dealt_round_and_each_attempt_is_its_own() -> None:
    tries = play({}, n=5, hints=["cache", "sort"], agents=["a", "b", "c"], models=["x"]).answers[0][1:]
    assert [task.agent for task in tries] == [("a",), ("b",), ("c",), ("a",), ("b",)]
    assert [task.description for task in tries] == ["cache", "sort", "cache", "sort", "cache"]
    assert {task.model for task in tries} == {"x"}
    assert len({task.id for task in tries}) == 5
    assert tries[0].prompt == "Make it fast.\n\nHow to go about it: cache\n"


def test_what_there_is_already_is_scored_beside_the_attempts_and_only_where_anything_is() -> None:
    with_score, without = play({}, n=2), play(n=2)
    assert names(with_score) == [["root", "try-1", "try-2"]]
    assert with_score.answers[0][0].run == "true"
    assert names(without) == [["try-1", "try-2"]]


def test_who_attempts_first_judges_and_puts_together_where_nobody_is_named() -> None:
    played = play({"try-1": 1, "try-2": 2}, n=2, agents=["a", "b"], choose="judge", synthesise="agent")
    assert [task.agent for answer in played.answers[1:] for task in answer] == [("a",), ("a",)]


def test_many_attempts_are_compared_at_once() -> None:
    scores: Scores = {f"try-{n}": float(n * 7919 % 2003) for n in range(1, 2001)}
    played = play({"root": 1.0, **scores}, n=2000, synthesise="union", unions=3)
    assert len(played.answers[1]) == 3
    found = chosen(played)
    assert found is not None
    assert found.task == max(scores, key=lambda name: scores[name] or 0.0)


# --- choosing by score ---


def test_the_best_score_is_chosen_and_every_other_kept() -> None:
    played = play({"root": 1, "try-1": 2, "try-2": 5, "try-3": 3}, n=3)
    assert decisions(played) == {"try-1": "kept", "try-2": "chosen", "try-3": "kept"}
    assert chosen(played) == Judgement(
        task="try-2", decision="chosen", rank=4.0, why="score 5; the next best, try-3: score 3"
    )
    assert played.reason == "chosen"
    assert [len(each) for each in played.judgements] == [0, 3]


def test_of_equal_scores_the_first_is_chosen() -> None:
    found = chosen(play({"root": 1, "try-1": 4, "try-2": 4}, n=2))
    assert found is not None
    assert (found.task, found.why) == ("try-1", "score 4; as good as the next, and first, try-2: score 4")


def test_what_is_not_valid_or_worse_than_before_is_never_chosen() -> None:
    played = play({"root": 3, "try-1": None, "try-2": 2, "try-3": 3}, n=3)
    assert decisions(played) == {"try-1": "rejected", "try-2": "rejected", "try-3": "chosen"}
    assert [each.why for each in played.judgements[-1]][:2] == ["it is no number", "score is 2, its parent's 3"]


def test_where_nothing_could_be_measured_before_the_attempts_still_count() -> None:
    assert getattr(chosen(play({"root": None, "try-1": 0, "try-2": 1}, n=2)), "task", None) == "try-2"


def test_nothing_is_chosen_where_every_attempt_fails() -> None:
    def fail(task: TaskSpec) -> object:
        raise ValueError

    asked: tuple[dict[str, Any], ...] = (
        {"scores": {}},
        {"judge": "wise", "synthesise": "agent"},
    )
    for options in asked:
        played = play(work=fail, **options)
        assert (len(played.answers), played.reason) == (1, "no_candidate")
        assert set(decisions(played).values()) == {"rejected"}
        assert {each.why for each in played.judgements[-1]} == {"failed: exception"}


# --- choosing by a judge, or by a person ---


def judged(note: str | None, **options: Any) -> Play:
    def work(task: TaskSpec) -> object:
        if not str(task.id).startswith("judge"):
            return {"lesson.md": f"learned by {task.id}"}
        return None if note is None else {"choice.json": note}

    return play(work=work, judge="wise", n=2, **options)


def test_a_judge_reads_what_was_made_and_chooses() -> None:
    played = judged('{"choice": "try-1", "why": "it is\\u0020shorter"}', scores={"root": 1, "try-1": 2, "try-2": 5})
    (judge,) = played.answers[1]
    assert (judge.agent, judge.reads, judge.score, judge.check) == (("wise",), ("try-1", "try-2"), None, "true")
    for part in ("    Make it fast.", "- try-2: score 5", "learned by try-1", ".budwood/notes/choice.json"):
        assert part in judge.prompt
    assert decisions(played) == {"try-1": "chosen", "try-2": "kept"}
    assert getattr(chosen(played), "why", "") == "judge: it is shorter"


@pytest.mark.parametrize(
    ("note", "why"),
    [
        (None, "judge left no choice.json"),
        ("I like them all", "choice.json of judge is no JSON"),
        ('{"choice": "try-9"}', "choice.json of judge names none of try-1, try-2: 'try-9'"),
        ('{"choice": ["try-1"]}', "choice.json of judge names none of try-1, try-2: ['try-1']"),
        ("[1]", "choice.json of judge names none of try-1, try-2: None"),
    ],
)
def test_a_judge_who_makes_no_sense_leaves_it_to_the_score_or_to_nobody(note: str | None, why: str) -> None:
    by_score = chosen(judged(note, scores={"root": 1, "try-1": 2, "try-2": 5}))
    assert by_score is not None
    assert (by_score.task, by_score.why) == ("try-2", f"{why}; by score")
    nobody = judged(note)
    assert (chosen(nobody), nobody.reason) == (None, "undecided")
    assert {each.why for each in nobody.judgements[-1]} == {why}


def test_nobody_judges_a_single_candidate() -> None:
    played = judged(None, scores={"root": 1, "try-1": None, "try-2": 5})
    assert len(played.answers) == 1
    assert getattr(chosen(played), "why", "") == "there was no other to choose from"


def test_a_person_is_left_to_choose() -> None:
    played = play({"root": 1, "try-1": 2, "try-2": 5}, n=2, choose="person")
    assert (decisions(played), played.reason) == ({"try-1": "kept", "try-2": "kept"}, "person")
    assert play(n=2).reason == "person"


# --- synthesis ---


def test_an_agent_is_given_the_others_and_kept_only_if_it_is_better() -> None:
    scores: Scores = {"root": 1, "try-1": 2, "try-2": 5, "try-3": None}
    better = play({**scores, "synthesis": 6}, n=3, synthesise="agent", synthesiser="mason")
    (synthesis,) = better.answers[1]
    assert (synthesis.agent, synthesis.reads, synthesis.after) == (("mason",), ("try-1", "try-2", "try-3"), ())
    assert "- try-3: not valid: it is no number" in synthesis.prompt
    assert "The best of these so far is try-" in synthesis.prompt
    assert decisions(better) == {"try-1": "kept", "try-2": "kept", "try-3": "rejected", "synthesis": "chosen"}
    for value in (5, 4, None):
        played = play({**scores, "synthesis": value}, n=3, synthesise="agent")
        assert getattr(chosen(played), "task", None) == "try-2"
        assert decisions(played)["synthesis"] == "rejected"


def test_without_scores_the_judge_compares_what_was_chosen_with_what_came_of_synthesis() -> None:
    def work(task: TaskSpec) -> object:
        choices = {"judge": "try-2", "judge-again": "synthesis"}
        return {"choice.json": f'{{"choice": "{choices.get(str(task.id))}"}}'}

    played = play(work=work, judge="wise", n=3, synthesise="agent")
    assert names(played)[1:] == [["judge"], ["synthesis"], ["judge-again"]]
    assert played.answers[3][0].reads == ("try-2", "synthesis")
    assert decisions(played) == {"try-1": "kept", "try-2": "kept", "try-3": "kept", "synthesis": "chosen"}


def test_who_puts_together_is_not_told_of_a_choice_that_nobody_made() -> None:
    played = play(work=lambda task: {}, judge="wise", n=2, synthesise="agent")
    assert "so far" not in played.answers[2][0].prompt  # the judge left no choice, which says nothing about them


def test_unions_are_pairs_by_rank_and_then_the_best_one_extended() -> None:
    scores: Scores = {"root": 1, "try-1": 2, "try-2": 4, "try-3": 3, "union-2-3": 6, "union-1-2": 5, "union-1-2-3": 7}
    played = play(scores, n=3, synthesise="union")
    assert names(played)[1:] == [["union-2-3", "union-1-2", "union-1-3"], ["union-1-2-3"]]
    assert played.answers[1][0].after == ("try-2", "try-3")
    assert getattr(chosen(played), "task", None) == "union-1-2-3"
    assert decisions(played)["union-2-3"] == "rejected"


def test_a_union_that_is_no_better_ends_the_search() -> None:
    played = play({"root": 1, "try-1": 2, "try-2": 4, "try-3": 3, "union-2-3": 4}, n=3, synthesise="union")
    assert len(played.answers) == 2
    assert getattr(chosen(played), "task", None) == "try-2"


def test_at_most_so_many_unions_are_tried() -> None:
    scores: Scores = {"root": 1, **{f"try-{n}": n + 1.0 for n in range(1, 7)}, "union-5-6": 50}
    played = play(scores, n=6, synthesise="union", unions=4)
    assert names(played)[1:] == [["union-5-6", "union-4-6", "union-3-6", "union-4-5"]]


def test_what_is_the_same_is_merged_once() -> None:
    strategy = BestOfStrategy(prompt="p", n=4, scoring=SCORING, synthesise="union")
    tasks = strategy.ask(0, random_of(0, 0))
    strategy.asked(0, tasks)
    trees = {"root": "t0", "try-1": "t1", "try-2": "t0", "try-3": "t1", "try-4": "t4"}
    for number, task in enumerate(tasks):
        score = Score(value=1.0 + number, metrics={"score": 1.0 + number})
        told = Told(task=task, number=number, ask=0, state=TaskPhase.DONE, score=score, tree=trees[str(task.id)])
        strategy.tell(told)
    assert [task.id for task in strategy.ask(1, random_of(0, 1))] == ["union-3-4"]


def told_all(strategy: Strategy, number: int, at: int, ends: dict[str, float | str]) -> int:
    """Tell the tasks of an answer: a number is a score, a text the kind of failure."""
    tasks = strategy.ask(number, random_of(0, number))
    strategy.asked(number, tasks := list(tasks))
    assert [str(task.id) for task in tasks] == list(ends)
    for task in tasks:
        end = ends[str(task.id)]
        if isinstance(end, str):
            strategy.tell(Told(task=task, number=at, ask=number, state=TaskPhase.FAILED, error=end))
        else:
            score = Score(value=end, metrics={"score": end})
            strategy.tell(Told(task=task, number=at, ask=number, state=TaskPhase.DONE, score=score))
        at += 1
    return at


def test_what_conflicts_is_merged_file_by_file_each_going_first_once() -> None:
    strategy = BestOfStrategy(prompt="p", n=3, scoring=SCORING, synthesise="union")
    at = told_all(strategy, 0, 0, {"root": 1.0, "try-1": 2.0, "try-2": 4.0, "try-3": 3.0})
    at = told_all(strategy, 1, at, {"union-2-3": "conflict", "union-1-2": 4.5, "union-1-3": "check"})
    at = told_all(strategy, 2, at, {"union-2-3-by-file": 6.0, "union-3-2-by-file": 5.0})
    tasks = list(strategy.ask(3, random_of(0, 3)))
    assert [(task.id, task.after, task.on_conflict) for task in tasks] == [
        ("union-2-3-1-by-file", ("try-2", "try-3", "try-1"), "first")
    ]
    told_all(strategy, 3, at, {"union-2-3-1-by-file": 5.5})
    assert not strategy.ask(4, random_of(0, 4))
    assert {each.task: each.decision for each in strategy.judged(4)}["union-2-3-by-file"] == "chosen"


# --- bad input ---


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": 0}, "n is 0"),
        ({"n": "4"}, "n is '4'"),
        ({"n": True}, "n is True"),
        ({"prompt": " "}, "prompt is ' '"),
        ({"n": 1, "hints": ["a", "b"]}, "2 hints and 1 attempt:"),
        ({"agents": "claude"}, "agents is 'claude'"),
        ({"models": [""]}, "one of models is ''"),
        ({"choose": "score"}, "choose = score needs a score"),
        ({"synthesise": "union"}, "synthesise = union needs a score"),
        ({"choose": "coin"}, "choose is 'coin'"),
        ({"synthesise": "mix"}, "synthesise is 'mix'"),
        ({"scoring": SCORING, "judge": "wise", "choose": "score"}, "there is a judge, wise, and choose is score"),
        ({"synthesiser": "mason"}, "there is a synthesiser, mason"),
        ({"unions": 0, "scoring": SCORING, "synthesise": "union"}, "unions is 0"),
        ({"scoring": {"stages": [{"runs": "x"}]}}, "scoring cannot be understood"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        BestOfStrategy(**{"prompt": "p", **options})
