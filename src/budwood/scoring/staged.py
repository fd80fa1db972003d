"""The order in which a candidate is measured: stage by stage, setting by setting, repeat by repeat, and when to stop.

What measures is handed in, so that this is arithmetic. A stage that is too low, a number that is none, a row that is
missing: the candidate is not valid. A command that fails says nothing about the candidate: the attempt fails.
"""

import math
from collections.abc import Sequence
from typing import Protocol

from budwood._core.scores import Direction, Score, Scoring, Stage
from budwood.scoring.estimate import interval
from budwood.scoring.rows import means

_LEAST_REPEATS = 3
"""Before so many nobody is called hopeless."""


class Failed(Exception):
    """A score command did not do its work."""


class Measure(Protocol):
    """Runs the command of a stage once."""

    def __call__(self, stage: Stage, *, setting: str | None, repeat: int) -> list[dict[str, float]]:
        """Return its rows: one, or those of its results file; raises Failed."""


def score(scoring: Scoring, measure: Measure, *, bar: Score | None = None) -> Score:
    """Score a candidate; `bar` is the score of what it must not be worse than, if there is such a thing."""
    metrics: dict[str, float] = {}
    last = Score(valid=False, why="there is nothing to score it by")
    several = len(scoring.stages) > 1
    for number, stage in enumerate(scoring.stages, start=1):
        name = (stage.name or str(number)) if several else ""
        last = _stage(scoring, stage, measure, bar=bar if number == len(scoring.stages) else None)
        metrics |= last.metrics
        last = _with(last, metrics=dict(metrics), stage=name)
        if not last.valid:
            break
    return last


def _stage(scoring: Scoring, stage: Stage, measure: Measure, *, bar: Score | None) -> Score:
    """Run one stage as often as it wants; stop where more of it would change nothing."""
    runs: list[dict[str, float]] = []
    samples: list[float] = []
    for repeat in range(stage.repeats):
        row, why = _one_repeat(stage, measure, repeat)
        if not why and scoring.primary not in row:
            why = f"there is no {scoring.primary} in what it said: {', '.join(row) or 'nothing'}"
        if not why:
            bad = next((name for name, value in row.items() if not math.isfinite(value)), None)
            why = "" if bad is None else f"{bad} is {row[bad]}"
        if why:
            found = {name: value for name, value in row.items() if math.isfinite(value)}
            return Score(value=found.get(scoring.primary), metrics=found, valid=False, why=why)
        runs.append(row)
        samples.append(row[scoring.primary])
        if bar is not None and repeat + 1 < stage.repeats and _is_hopeless(samples, bar, scoring.direction):
            said = f"worse than its parent after {repeat + 1} of {stage.repeats} repeats"
            return _summed(scoring, runs, samples, why=said)
    return _summed(scoring, runs, samples, why=_below(stage, math.fsum(samples) / len(samples), scoring.primary))


def _one_repeat(stage: Stage, measure: Measure, repeat: int) -> tuple[dict[str, float], str]:
    """Measure once, over all settings; return the means, and what is missing."""
    rows: list[dict[str, float]] = []
    for setting in stage.sweep or (None,):
        found = measure(stage, setting=setting, repeat=repeat)
        if not found:
            return {}, "there is no row" + ("" if setting is None else f" for the setting {setting}")
        rows += found
    if stage.rows is not None and len(rows) != stage.rows * max(1, len(stage.sweep)):
        wanted = stage.rows * max(1, len(stage.sweep))
        return means(rows)[0], f"{len(rows)} of {wanted} rows are there"
    found_means, lacking = means(rows)
    return found_means, f"{lacking[0]} is not in every row" if lacking else ""


def _summed(scoring: Scoring, runs: Sequence[dict[str, float]], samples: Sequence[float], *, why: str) -> Score:
    metrics, _ = means(runs)
    bounds = interval(samples)
    return Score(
        value=metrics[scoring.primary],
        metrics=metrics,
        valid=not why,
        why=why,
        samples=tuple(samples) if len(samples) > 1 else (),
        low=None if bounds is None else bounds[0],
        high=None if bounds is None else bounds[1],
    )


def _below(stage: Stage, value: float, primary: str) -> str:
    if stage.at_least is not None and value < stage.at_least:
        return f"{primary} is {value:g}, and at least {stage.at_least:g} is wanted"
    if stage.at_most is not None and value > stage.at_most:
        return f"{primary} is {value:g}, and at most {stage.at_most:g} is wanted"
    return ""


def _is_hopeless(samples: Sequence[float], bar: Score, direction: Direction) -> bool:
    """Say whether it is worse than the bar beyond doubt; by the same seeds, where the bar was measured with them."""
    if len(samples) < _LEAST_REPEATS or bar.value is None:
        return False
    others = bar.samples[: len(samples)] if len(bar.samples) >= len(samples) else (bar.value,) * len(samples)
    sign = 1.0 if direction == "max" else -1.0
    bounds = interval([sign * (ours - theirs) for ours, theirs in zip(samples, others, strict=True)])
    return bounds is not None and bounds[1] < 0


def _with(found: Score, *, metrics: dict[str, float], stage: str) -> Score:
    return Score(
        value=found.value,
        metrics=metrics,
        valid=found.valid,
        why=found.why,
        samples=found.samples,
        low=found.low,
        high=found.high,
        stage=stage,
    )
