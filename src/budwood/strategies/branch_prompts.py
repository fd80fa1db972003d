"""What an attempt that grows from a candidate is told: what is wanted, where its branch stands, what others learnt.

A function of what it is given; each part has a bound. Knows scores and lessons; must not know trees.
"""

from collections.abc import Sequence
from typing import NamedTuple

from budwood._core.scores import Score, Scoring, gain
from budwood.strategies.base import Told
from budwood.strategies.lessons import NOTE, Lesson, one_line

CHAIN = 8
"""So many candidates of a branch are shown, the newest."""
_FILES = 5
"""So many of the files that an attempt changed are named in a lesson."""


class Ancestor(NamedTuple):
    """A candidate that an attempt stands on."""

    task: str
    score: Score | None


def prompt_of(
    prompt: str,
    *,
    scoring: Scoring,
    above: Sequence[Ancestor],
    depth: int,
    joined: Ancestor | None,
    shown: Sequence[Ancestor],
    lessons: Sequence[tuple[Lesson, Score | None]],
) -> str:
    """Write the prompt of an attempt; `above` ends with what it grows from, which is `depth` steps from the root."""
    parts = [prompt.strip("\n"), "# Where this branch stands", *_standing(scoring, above, depth, joined)]
    if shown:
        named = "\n".join(f"- {each.task}{_in_brackets(each.score)}" for each in shown)
        parts += ["# Others that did well", f"They grew elsewhere; what each changed is shown further down.\n\n{named}"]
    if lessons:
        told = [f"- {lesson.task}{_in_brackets(score)}: {lesson.text}" for lesson, score in lessons]
        parts += ["# Lessons of earlier attempts", "\n".join(told)]
    wanted = f"Last, write what the next attempts should know into the file {NOTE} of the directory $BUDWOOD_NOTES:"
    parts += ["# Your own lesson", f"{wanted} what you changed, and why; one or two sentences."]
    return "\n\n".join(parts) + "\n"


def lesson_of_end(told: Told, before: Score | None, scoring: Scoring) -> str:
    """Say what can be learnt of an attempt that left no note: how it ended, and what that did to the score."""
    onto = " and ".join(str(name) for name in told.task.after) + _changing(told.files)
    if not told.done:
        return one_line(f"an attempt on {onto} ended {told.state}{f': {told.error}' if told.error else ''}")
    if told.score is None or told.score.value is None or not told.score.valid:
        why = told.score.why if told.score is not None else ""
        return one_line(f"an attempt on {onto} has no valid score{f': {why}' if why else ''}")
    change = _change(told.score, before, scoring)
    return one_line(f"an attempt on {onto} brought {scoring.primary} to {told.score.value:g}{change}")


def _changing(files: Sequence[str]) -> str:
    """Name what an attempt changed; lessons are found by their words, and so by these."""
    more = ", …" if len(files) > _FILES else ""
    return f" that changed {', '.join(files[:_FILES])}{more}" if files else ""


def _standing(scoring: Scoring, above: Sequence[Ancestor], depth: int, joined: Ancestor | None) -> list[str]:
    parent = above[-1]
    if joined is None:
        here = f"The working directory holds what {parent.task} made."
    else:
        here = (
            f"The working directory holds what {parent.task}{_in_brackets(parent.score)} and "
            f"{joined.task}{_in_brackets(joined.score)} made, merged. Make the two work together."
        )
    before = depth + 1 - len(above)
    lines = [f"- … {before} before"] if before else []
    known: Score | None = None
    for ancestor in above:
        value = f"{ancestor.score.value:g}" if ancestor.score and ancestor.score.value is not None else "not yet scored"
        lines.append(f"- {ancestor.task}: {value}{_change(ancestor.score, known, scoring)}")
        known = ancestor.score
    better = "higher" if scoring.direction == "max" else "lower"
    return [f"{here} Its {scoring.primary} is to become {better}; so far, from the start on:", "\n".join(lines)]


def _change(score: Score | None, before: Score | None, scoring: Scoring) -> str:
    """Say how much better a score is than the one before; nothing where there is nothing to say."""
    if score is None or before is None or score.value is None or before.value is None:
        return ""
    change = gain(score.value, before.value, scoring.direction)
    relative = f"{abs(change):.2%}" if before.value else f"{abs(change):g}"
    return f" ({relative} {'better' if change > 0 else 'worse'})" if change else " (no change)"


def _in_brackets(score: Score | None) -> str:
    return f" ({score.value:g})" if score is not None and score.value is not None else ""
