"""The strategy `beam`: which ideas are tried where, in which order, and what becomes of them."""

import pytest
from tests.search.values import SCORING, Values, beam, decisions, ideas, judged, play, tried

from budwood._core.model import TaskPhase, TaskSpec
from budwood._core.scores import Metric, Score, Scoring, Stage
from budwood.errors import UsageError
from budwood.strategies.base import Strategy, Told, random_of
from budwood.strategies.beam import BeamStrategy
from budwood.strategies.ideas import idea
from budwood.testing.strategies import StrategyConformance
from budwood.testing.strategy_play import Play

FOUR = ideas(a="+1", b="-1", c="+3", d="+2")


class TestBeam(StrategyConformance):
    def make(self) -> Strategy:
        self.values = Values()
        return beam(FOUR, beam_width=2)

    def score(self, task: TaskSpec) -> Score | None:
        return self.values.score(task)


class TestBeamWithAnAgent(StrategyConformance):
    def make(self) -> Strategy:
        self.values = Values()
        return beam(ideas(a="+1"), idea_agent="muse", beam_width=2, ideas_per_node=3)

    def work(self, task: TaskSpec) -> object:
        return {"ideas/x.md": f"+{len(str(task.id))}", "ideas/y.md": "-1"} if task.score is None else None

    def score(self, task: TaskSpec) -> Score | None:
        return self.values.score(task)


def test_the_root_is_scored_before_anything_is_tried() -> None:
    first = play(beam(FOUR)).answers[0]
    assert [(task.id, task.run, task.score) for task in first] == [("root", "true", SCORING)]


def test_a_depth_is_one_answer_by_node_and_then_by_the_name_of_the_idea() -> None:
    played = play(beam(FOUR[::-1], beam_width=2, max_depth=2))
    assert tried(played, 1) == [
        ("d1-e0001", "root", "a.md"),
        ("d1-e0002", "root", "b.md"),
        ("d1-e0003", "root", "c.md"),
        ("d1-e0004", "root", "d.md"),
    ]
    # c and d are promoted; what led to a node is not tried there again
    assert tried(played, 2) == [
        ("d2-e0005", "d1-e0003", "a.md"),
        ("d2-e0006", "d1-e0003", "b.md"),
        ("d2-e0007", "d1-e0003", "d.md"),
        ("d2-e0008", "d1-e0004", "a.md"),
        ("d2-e0009", "d1-e0004", "b.md"),
        ("d2-e0010", "d1-e0004", "c.md"),
    ]
    assert played.reason == "max_depth"


def test_a_task_tells_what_it_tries_and_has_the_idea_as_its_prompt() -> None:
    task = play(beam(ideas(a="# Widen\nDo +1"))).answers[1][0]
    assert (task.prompt, task.description, task.after) == ("# Widen\nDo +1", "Widen", ("root",))
    assert task.env == {"BUDWOOD_IDEA": "ideas/a.md", "BUDWOOD_IDEA_SHA256": idea("", "# Widen\nDo +1").sha256}


def test_a_depth_is_judged_at_once_with_reasons() -> None:
    played = play(beam(FOUR, beam_width=2, max_depth=1))
    assert decisions(played) == [
        {},
        {"root": "promoted"},
        {"d1-e0001": "pruned", "d1-e0002": "rejected", "d1-e0003": "promoted", "d1-e0004": "promoted"},
    ]
    assert [judgement.why for judgement in judged(played, 2)] == [
        "place 3 of 3, and the beam is 2 wide",
        "score is 9, its parent's 10",
        "",
        "",
    ]
    assert [judgement.rank for judgement in judged(played, 2)] == pytest.approx([0.1, -0.1, 0.3, 0.2])


def test_the_gate_is_the_parent_and_the_rank_is_against_the_root() -> None:
    played = play(beam(ideas(a="+5", b="+1", c="-1"), beam_width=2, max_depth=2, dedupe="node"))
    # Below a (15) and b (11): a better than the root is no good if it is worse than its parent.
    by_task: dict[str, tuple[object, object]] = {str(j.task): (j.decision, j.rank) for j in judged(played, 3)}
    assert by_task["d2-e0006"][0] == "rejected"
    assert by_task["d2-e0006"][1] == pytest.approx(0.4)
    assert by_task["d2-e0004"] == ("promoted", pytest.approx(1.0))


def test_ties_go_by_the_primary_metric_and_then_by_number() -> None:
    equal = play(beam(ideas(a="+1", b="+1\n", c="+1\n\n"), beam_width=2, max_depth=1))
    assert decisions(equal)[2] == {"d1-e0001": "promoted", "d1-e0002": "promoted", "d1-e0003": "pruned"}

    clamped = Scoring(stages=(Stage(run="./score"),), metrics={"score": Metric(clamp=0.1)})
    played = play(beam(ideas(a="+2", b="+5", c="+3"), scoring=clamped, max_depth=1))
    assert [judgement.rank for judgement in judged(played, 2)] == pytest.approx([0.1, 0.1, 0.1])
    assert decisions(played)[2] == {"d1-e0001": "pruned", "d1-e0002": "promoted", "d1-e0003": "pruned"}


def test_what_is_no_score_is_never_promoted() -> None:
    played = play(beam(ideas(a="nan", b="invalid", c="none", d="fail", e="+0"), beam_width=5, max_depth=1))
    assert [(j.decision, j.why) for j in judged(played, 2)] == [
        ("rejected", "score is nan, which is no number to compare"),
        ("rejected", "it says so"),
        ("rejected", "it has no score"),
        ("rejected", "its task failed: exception"),
        ("promoted", ""),
    ]


def test_equal_files_are_promoted_once() -> None:
    trees = {"ideas/a.md": "same", "ideas/b.md": "same", "ideas/c.md": "other"}
    strategy, values = beam(ideas(a="+1", b="+1\n", c="+0"), beam_width=2), Values()
    for ask in range(2):
        tasks = tuple(strategy.ask(ask, random_of(0, ask)))
        strategy.asked(ask, tasks)
        for task in tasks:
            tree = trees.get(task.env.get("BUDWOOD_IDEA", ""), "")
            told = Told(task=task, number=0, ask=ask, state=TaskPhase.DONE, score=values.score(task), tree=tree)
            strategy.tell(told)
    assert [(j.decision, j.why) for j in strategy.judged(2)] == [
        ("promoted", ""),
        ("pruned", "it has the same files as d1-e0001"),
        ("promoted", ""),
    ]


def test_in_the_end_the_best_of_all_depths_is_chosen() -> None:
    played = play(beam(ideas(a="+3", b="+0", c="-1"), dedupe="none", beam_width=2, max_depth=2))
    last = played.judgements[-1][-1]
    assert (last.task, last.decision, last.why) == ("d2-e0004", "chosen", "the best of 4 that were promoted")

    earlier = play(beam(ideas(a="+3", b="-1"), max_depth=2)).judgements[-1]
    assert [(j.task, j.decision) for j in earlier] == [("d2-e0003", "rejected"), ("d1-e0001", "chosen")]

    nobody = play(beam(ideas(a="-3"))).judgements[-1]
    assert [(j.task, j.decision) for j in nobody] == [("d1-e0001", "rejected")]


def test_less_is_better_where_the_scoring_says_so() -> None:
    least = Scoring(stages=(Stage(run="./score"),), direction="min")
    assert decisions(play(beam(FOUR, scoring=least, max_depth=1)))[2]["d1-e0002"] == "promoted"


@pytest.mark.parametrize(
    ("options", "texts", "reason"),
    [
        ({"max_depth": 2}, {"a": "+1", "b": "+2"}, "max_depth"),
        ({}, {"a": "-1", "b": "fail"}, "empty_frontier"),
        ({}, {"a": "fail", "b": "fail\n"}, "empty_frontier"),
        ({}, {"a": "+1"}, "no_ideas"),
        ({"max_evals": 3, "max_depth": 9}, {"a": "+1", "b": "+2"}, "max_evals"),
    ],
)
def test_it_says_why_it_ends(options: dict[str, object], texts: dict[str, str], reason: str) -> None:
    assert play(beam(ideas(**texts), **options)).reason == reason


@pytest.mark.parametrize("how", ["no score", "not valid", "fails"])
def test_a_root_without_a_score_ends_it(how: str) -> None:
    def work(task: TaskSpec) -> object:
        raise ValueError

    def score(task: TaskSpec) -> Score | None:
        return Score(value=1.0, valid=False, why="too low") if how == "not valid" else None

    played = Play(beam(FOUR), work if how == "fails" else lambda _: None, seed=0, score=score).go(9)
    assert (len(played.answers), played.reason) == (1, "root_failed")
    assert decisions(played)[1] == {"root": "rejected"}


def test_the_budget_of_evaluations_cuts_a_depth_at_its_end() -> None:
    played = play(beam(FOUR, beam_width=2, max_evals=6))
    assert [task[0] for task in tried(played, 2)] == ["d2-e0005", "d2-e0006"]
    assert played.reason == "max_evals"


def test_a_node_tries_so_many_ideas_at_most() -> None:
    played = play(beam(FOUR, ideas_per_node=2, max_depth=2))
    assert [idea for *_, idea in tried(played, 1)] == ["a.md", "b.md"]
    assert [idea for *_, idea in tried(played, 2)] == ["b.md", "c.md"]


@pytest.mark.parametrize(
    ("dedupe", "first", "second"),
    [
        ("none", "a b c d", "a b c d"),
        ("node", "a b d", "a b d"),
        ("ancestors", "a b d", "b d"),
        ("global", "a b d", ""),
    ],
)
def test_equal_ideas_are_tried_once_in_their_scope(dedupe: str, first: str, second: str) -> None:
    played = play(beam(ideas(a="+2", b="+0", c="+0", d="+1"), dedupe=dedupe, max_depth=2))
    tries = [
        " ".join(idea.removesuffix(".md") for *_, idea in tried(played, ask)) for ask in range(1, len(played.answers))
    ]
    assert tries == ([first, second] if second else [first])
    assert played.reason == ("max_depth" if second else "no_ideas")


def test_ideas_that_were_tried_anywhere_are_shared_out_over_the_frontier() -> None:
    many = ideas(**{name: f"+{place}" for place, name in enumerate("abcdef", start=1)})
    played = play(beam(many, dedupe="global", ideas_per_node=2, beam_width=2, max_depth=2))
    assert [entry[1:] for entry in tried(played, 2)] == [
        ("d1-e0001", "c.md"),
        ("d1-e0001", "d.md"),
        ("d1-e0002", "e.md"),
        ("d1-e0002", "f.md"),
    ]


def test_tasks_of_a_node_are_a_group_where_so_many_may_be_under_way() -> None:
    assert {task.group for task in play(beam(FOUR)).answers[1]} == {None}
    strategy = beam(FOUR, beam_width=2, per_node=1)
    assert strategy.groups == {"node-1": 1, "node-2": 1}
    played = play(strategy)
    assert [task.group for task in played.answers[2]] == ["node-1"] * 3 + ["node-2"] * 3


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"beam_width": 0}, "beam_width is 0"),
        ({"beam_width": True}, "beam_width is True"),
        ({"max_depth": 0}, "max_depth is 0"),
        ({"ideas_per_node": -1}, "ideas_per_node is -1"),
        ({"max_evals": 0}, "max_evals is 0"),
        ({"per_node": 1.5}, "per_node is 1.5"),
        ({"dedupe": "nodes"}, "node, ancestors, global, none"),
        ({"ideas": []}, "there are no ideas"),
        ({"ideas": ideas(a=" \n")}, "ideas/a.md is empty"),
        ({"ideas": [{"path": "a", "text": "x", "sha256": "0"}]}, "not the text"),
        ({"ideas": [*ideas(a="+1"), *ideas(a="+2")]}, "two ideas ideas/a.md"),
    ],
)
def test_what_makes_no_sense_is_refused(options: dict[str, object], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        BeamStrategy(**({"scoring": SCORING, "ideas": FOUR} | options))  # type: ignore[arg-type]


def test_it_cannot_be_asked_before_a_depth_has_ended() -> None:
    strategy = beam(FOUR)
    strategy.asked(0, tuple(strategy.ask(0, random_of(0, 0))))
    with pytest.raises(Exception, match="root has not"):
        strategy.ask(1, random_of(0, 1))


def test_a_run_may_stop_after_each_depth() -> None:
    strategy, values = beam(FOUR, one_depth=True, max_depth=2), Values()
    played = Play(strategy, values.work, seed=0, score=values.score)
    pauses = []
    while played.step():
        played.tell(len(played.answers))
        pauses.append(strategy.pauses(len(played.answers)))
    assert [bool(pause) for pause in pauses] == [False, True, True]
    assert pauses[1].startswith("depth 1 is judged")


def test_a_metric_that_is_not_there_is_named() -> None:
    scoring = Scoring(stages=SCORING.stages, metrics={"score": Metric(), "size": Metric()})
    played = play(beam(ideas(a="+1"), scoring=scoring))
    assert played.reason == "root_failed"
    assert [j.why for j in played.judgements[1]] == ["it has no size, by which it is ranked"]
