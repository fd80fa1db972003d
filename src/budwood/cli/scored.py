"""Scores and judgements in words.

Knows scores. Must not know where they came from.
"""

from budwood._core.scores import Judgement, Score


def score_text(score: Score | None) -> str:
    """Write a score for a cell of a table; nothing where nobody measured."""
    if score is None:
        return ""
    return f"{score.value:g}" if score.valid and score.value is not None else "not valid"


def score_words(score: Score) -> str:
    """Say what was measured, in a line."""
    said = "none" if score.value is None else f"{score.value:g}"
    if score.low is not None and score.high is not None:
        said += f" ({score.low:g} to {score.high:g}, {len(score.samples)} repeats)"
    others = [f"{name} {value:g}" for name, value in score.metrics.items() if value != score.value]
    said += f"; {', '.join(others)}" if others else ""
    return said if score.valid else f"{said}; not valid: {score.why}"


def judgement_words(judgement: Judgement) -> str:
    """Say what a strategy did with a candidate, and why."""
    rank = "" if judgement.rank is None else f", rank {judgement.rank:+g}"
    return f"{judgement.decision}{rank}" + (f": {judgement.why}" if judgement.why else "")
