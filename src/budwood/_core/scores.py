"""Scores: how a candidate is measured, what came of it, and how two are compared.

All of it is arithmetic on numbers that are there: a score that is no number, or of which a part is missing, is not
valid, and never wins. Must not know commands' output, files or clocks.
"""

import math
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

Direction = Literal["max", "min"]
PRIMARY = "score"
"""What the number is called that a command prints alone."""


class Stage(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One command that scores; the cheap ones come first."""

    run: str
    name: str = ""
    timeout_s: float = 600.0
    at_least: float | None = None
    """What the primary metric must come to, or the stages after it are not run and the candidate is not valid."""
    at_most: float | None = None
    repeats: int = 1
    """How often it is run, each time with a seed that is the same for all candidates."""
    sweep: tuple[str, ...] = ()
    """Settings: it is run for each of them, and a missing row makes the candidate invalid."""
    results: str = ""
    """The file that it writes its rows to; empty: it prints them."""
    rows: int | None = None
    """How many rows there must be in that file."""


class Metric(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """How much one number counts in the rank of a candidate."""

    weight: float = 1.0
    direction: Direction | None = None
    """None: that of the primary metric."""
    clamp: float = 2.0
    """A relative change counts for so much at most, either way."""
    worst: float | None = None
    """A relative change for the worse beyond this keeps a candidate from passing the gate."""


class Scoring(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """How candidates are scored and compared."""

    stages: tuple[Stage, ...]
    primary: str = PRIMARY
    direction: Direction = "max"
    metrics: dict[str, Metric] = {}
    """Those that rank a candidate; without any, the primary metric alone does."""
    gate: Literal["parent", "none"] = "parent"
    """What a candidate must not be worse than."""
    rank: Literal["root", "value"] = "root"
    """Whether candidates are ranked by their change against the root, or by their primary metric as it is."""


class Score(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was measured of one candidate."""

    value: float | None = None
    """The primary metric; None where there is none."""
    metrics: dict[str, float] = {}
    valid: bool = True
    why: str = ""
    """Why it is not valid."""
    samples: tuple[float, ...] = ()
    """The primary metric of each repeat, in order; empty if there was one."""
    low: float | None = None
    """Where the mean of the repeats lies with 95 % confidence."""
    high: float | None = None
    stage: str = ""
    """The last stage that was run, where there are several."""


class Judgement(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a strategy did with a candidate, and why."""

    task: str | int
    decision: Literal["promoted", "pruned", "chosen", "kept", "rejected"]
    rank: float | None = None
    why: str = ""


def gain(value: float, base: float, direction: Direction) -> float:
    """Return how much better a number is than another, relative to that one; where that is 0, as it is."""
    change = (value - base) / abs(base) if base else value - base
    return change if direction == "max" else -change


def is_better(value: float, other: float, direction: Direction) -> bool:
    """Say whether a number is better than another."""
    return value > other if direction == "max" else value < other


def rank_of(scoring: Scoring, score: Score, root: Score | None) -> float | None:
    """Say how good a candidate is, the higher the better; None if it cannot be ranked."""
    if not score.valid or score.value is None or not math.isfinite(score.value):
        return None
    if scoring.rank == "value" or root is None:
        return score.value if scoring.direction == "max" else -score.value
    metrics = scoring.metrics or {scoring.primary: Metric(clamp=math.inf)}
    total = weights = 0.0
    for name, metric in metrics.items():
        if name not in score.metrics or name not in root.metrics:
            return None
        change = gain(score.metrics[name], root.metrics[name], metric.direction or scoring.direction)
        total += metric.weight * max(-metric.clamp, min(metric.clamp, change))
        weights += abs(metric.weight)
    if not math.isfinite(total):
        return None
    return total / weights if weights else 0.0


def primary_gain(scoring: Scoring, score: Score, root: Score | None) -> float:
    """Return the change of the primary metric: what decides between candidates of one rank."""
    if score.value is None:
        return -math.inf
    if root is None or root.value is None:
        return score.value if scoring.direction == "max" else -score.value
    return gain(score.value, root.value, scoring.direction)


def gate(scoring: Scoring, score: Score | None, parent: Score | None) -> str:
    """Say why a candidate may not be promoted; empty if it may."""
    if score is not None and not score.valid:
        return score.why or "its score is not valid"
    if score is None or score.value is None:
        return "it has no score"
    if not math.isfinite(score.value):
        return f"{scoring.primary} is {score.value}, which is no number to compare"
    if scoring.gate == "none" or parent is None or parent.value is None:
        return ""
    if is_better(parent.value, score.value, scoring.direction):
        return f"{scoring.primary} is {score.value:g}, its parent's {parent.value:g}"
    for name, metric in scoring.metrics.items():
        if name not in score.metrics:
            return f"it has no {name}"
        if metric.worst is not None and name in parent.metrics:
            change = gain(score.metrics[name], parent.metrics[name], metric.direction or scoring.direction)
            if change < -metric.worst:
                return f"{name} is {score.metrics[name]:g}, its parent's {parent.metrics[name]:g}"
    return ""


def best_of(scoring: Scoring, scores: Sequence[tuple[int, Score]], root: Score | None) -> int | None:
    """Return the number of the best candidate: by rank, then by its primary metric, then the first; None if none is."""
    ranked = [
        (rank, primary_gain(scoring, score, root), -number)
        for number, score in scores
        if (rank := rank_of(scoring, score, root)) is not None
    ]
    return -max(ranked)[2] if ranked else None
