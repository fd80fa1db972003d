"""Ideas of an agent: when it is asked, what it is told, and what is made of its answer."""

from collections.abc import Callable

import pytest
from tests.search.values import Values, beam, decisions, ideas, play, tried

from budwood._core.model import TaskSpec
from budwood.testing.strategy_play import Play


def _answering(*answers: object) -> Callable[[TaskSpec], object]:
    given = iter(answers)

    def work(task: TaskSpec) -> object:
        if task.score is not None:
            return Values().work(task)
        answer = next(given)
        if isinstance(answer, Exception):
            raise answer
        return answer

    return work


def _play(*answers: object, **options: object) -> Play:
    return play(beam([], idea_agent="muse", **options), work=_answering(*answers))


def test_an_agent_is_asked_for_ideas_at_every_node_of_the_frontier() -> None:
    given = {"ideas/b.md": "+1", "ideas/a.md": "+2", "lesson.md": "+9"}
    played = _play(given, {"ideas/c.md": "+1"}, {"ideas/d.md": "-1"}, beam_width=2, max_depth=2)
    (asked,) = played.answers[1]
    assert (asked.id, asked.agent, asked.after, asked.score) == ("root-ideas", ("muse",), ("root",), None)
    assert asked.allow_unchanged
    assert (asked.check, asked.reviewer) == ("true", "true")  # the project's own are about what ideas make
    assert tried(played, 2) == [("d1-e0001", "root", "root-ideas/a.md"), ("d1-e0002", "root", "root-ideas/b.md")]
    assert [task.id for task in played.answers[3]] == ["d1-e0001-ideas", "d1-e0002-ideas"]
    assert tried(played, 4) == [
        ("d2-e0003", "d1-e0001", "d1-e0001-ideas/c.md"),
        ("d2-e0004", "d1-e0002", "d1-e0002-ideas/d.md"),
    ]
    assert decisions(played)[2] == {"root-ideas": "kept"}


def test_it_sees_the_history_of_its_branch() -> None:
    first = {"ideas/a.md": "+2", "ideas/b.md": "-4", "ideas/c.md": "fail for ever"}
    played = _play(first, {"ideas/d.md": "-1"}, max_depth=2)
    prompt = played.answers[3][0].prompt
    assert "up to 7 ideas" in prompt
    assert "- the start: score 10\n- +2: score 12\n" in prompt
    assert "- -4: score 6 (score is 6, its parent's 10)" in prompt
    assert "- fail for ever: no score (its task failed: exception)" in prompt
    assert "What was tried" not in played.answers[1][0].prompt


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (None, "it left no ideas/NAME.md in its notes"),
        ({}, "it left no ideas/NAME.md in its notes"),
        ({"ideas/a.md": " \n"}, "it left no ideas/NAME.md in its notes"),
        ({"a.md": "+1"}, "it left no ideas/NAME.md in its notes"),
        ("nonsense", "it left no ideas/NAME.md in its notes"),
        ({"ideas/a.md": 5}, "it left no ideas/NAME.md in its notes"),
        (ValueError("it fails"), "its task failed: exception"),
    ],
)
def test_nonsense_is_no_idea_and_said(answer: object, why: str) -> None:
    played = _play(answer)
    assert played.reason == "no_ideas"
    assert [(j.task, j.decision, j.why) for j in played.judgements[2]] == [("root-ideas", "rejected", why)]


def test_what_was_tried_is_not_tried_again_whoever_thinks_of_it() -> None:
    played = _play({"ideas/a.md": "+2"}, {"ideas/z.md": "+2"}, max_depth=2)
    assert played.reason == "no_ideas"
    assert [j.why for j in played.judgements[4] if j.task == "d1-e0001-ideas"] == ["1 idea, not tried"]


def test_how_many_of_an_agents_ideas_are_tried_is_said() -> None:
    four = {"ideas/a.md": "+1", "ideas/b.md": "+2", "ideas/c.md": "+1", "ideas/d.md": "+3"}
    played = _play(four, max_depth=1, ideas_per_node=2)
    assert [(j.decision, j.why) for j in played.judgements[2]] == [("kept", "4 ideas, 2 of them tried")]
    played = _play(four, max_depth=1, dedupe="none")
    assert [(j.decision, j.why) for j in played.judgements[2]] == [("kept", "4 ideas")]


def test_an_agent_is_asked_for_what_files_leave_open() -> None:
    strategy = beam(ideas(a="+1", b="+2"), idea_agent="muse", ideas_per_node=3, max_depth=1)
    played = play(strategy, work=_answering({"ideas/x.md": "+3", "ideas/y.md": "+4"}))
    prompt = played.answers[1][0].prompt
    assert "one idea" in prompt
    assert "These will be tried anyway:\n- +1\n- +2" in prompt
    assert [idea for *_, idea in tried(played, 2)] == ["a.md", "b.md", "root-ideas/x.md"]


def test_an_agent_is_not_asked_where_there_are_enough() -> None:
    played = play(beam(ideas(a="+1", b="+2"), idea_agent="muse", ideas_per_node=2, max_depth=1))
    assert [len(answer) for answer in played.answers] == [1, 2]
