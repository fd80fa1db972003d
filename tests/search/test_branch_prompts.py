"""What attempts of mcts are told: where their branch stands, and what others learnt."""

from tests.search.growing import SCORING, Walk, ask, grow, make, tell

from budwood._core.model import TaskSpec
from budwood._core.scores import Scoring


def lessons_in(task: TaskSpec) -> list[str]:
    _, _, rest = task.prompt.partition("# Lessons of earlier attempts\n\n")
    return rest.partition("\n\n")[0].splitlines()


def test_a_lesson_is_what_an_attempt_noted_or_else_how_it_ended() -> None:
    strategy = make(synthesis=False)
    ask(strategy, 0)
    tell(strategy, "root", 2.0)
    for number in range(1, 4):
        ask(strategy, number)
    tell(strategy, "m1", 3.0, result={"lesson.md": "Unrolling\n# the loop\nhelps."})
    tell(strategy, "m2", 1.0, result="no notes", files=("src/loop.py",))
    tell(strategy, "m3", None, error="check", files=tuple("abcdef"))
    assert set(lessons_in(ask(strategy, 4))) == {
        "- m1 (3): Unrolling # the loop helps.",
        "- m2 (1): an attempt on root that changed src/loop.py brought score to 1 (50.00% worse)",
        "- m3: an attempt on root that changed a, b, c, d, e, … ended failed: check",
    }


def test_lessons_of_the_branch_come_first_then_those_with_common_words_then_the_newest() -> None:
    strategy = make(synthesis=False, max_children=2, lessons_shown=3, exploration=0.0)
    ask(strategy, 0)
    tell(strategy, "root", 1.0)
    for number in range(1, 5):
        ask(strategy, number)
    tell(strategy, "m1", 1.1, result={"lesson.md": "caching the parser tables pays"})
    tell(strategy, "m2", 1.0, result={"lesson.md": "threads bring nothing"})
    tell(strategy, "m3", 1.0, result={"lesson.md": "fewer allocations, little else"})
    tell(strategy, "m4", 5.0, result={"lesson.md": "the parser is the hot spot"})
    task = ask(strategy, 5)
    assert task.after == ("m4",)
    assert [line.split()[1] for line in lessons_in(task)] == ["m4", "m1", "m3"]


def test_no_more_lessons_are_shown_than_wanted_and_none_is_endless() -> None:
    strategy = make(lessons_shown=2)
    grow(strategy, {"root": 1.0})
    for number in range(1, 6):
        ask(strategy, number)
        tell(strategy, f"m{number}", None if number % 2 else 1.0, result={"lesson.md": "long " * 5000})
    shown = lessons_in(ask(strategy, 6))
    assert len(shown) == 2
    assert max(map(len, shown)) < 450


def test_without_lessons_prompts_hold_none() -> None:
    play = Walk().play(make(lessons=False, attempts=20)).go(30)
    assert not any("# Lessons" in task.prompt for answer in play.answers for task in answer)


def test_a_prompt_says_what_is_wanted_and_where_its_branch_stands() -> None:
    strategy = make(synthesis=False, max_children=1, scoring=Scoring(stages=SCORING.stages, direction="min"))
    task = grow(strategy, {"root": 4.0, "m1": 3.0, "m2": 2.0})[2]
    assert task.prompt.startswith("Make it faster.\n\n# Where this branch stands\n\n")
    assert "holds what m1 made. Its score is to become lower; so far, from the start on:" in task.prompt
    assert "\n- root: 4\n- m1: 3 (25.00% better)\n" in task.prompt
    assert "lesson.md of the directory $BUDWOOD_NOTES" in task.prompt


def test_a_long_branch_is_shown_by_its_end() -> None:
    strategy = make(synthesis=False, max_children=1)
    tasks = grow(strategy, {"root": 1.0} | {f"m{n}": 1.0 + n for n in range(1, 12)})
    assert "\n- … 3 before\n" in tasks[-1].prompt
    assert "- m10: 11" in tasks[-1].prompt
