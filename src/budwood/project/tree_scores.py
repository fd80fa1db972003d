"""What a score of budwood's is to a manifest of the tree runner: rows of results, read as the plan's score reads them.

Knows how candidates are scored. Must not know where its files come from.
"""

from pathlib import Path

import msgspec

from budwood._core.scores import Score, Scoring, Stage
from budwood.errors import UsageError
from budwood.scoring import Unreadable, read_rows, score


def score_of(scoring: Scoring, whole: object, results: Path | None, *, name: str, complete: bool) -> Score:
    """Score what has been measured elsewhere: a whole score as budwood has written it, or else a file of rows."""
    if whole is not None:
        try:
            return msgspec.convert(whole, Score)
        except msgspec.ValidationError as error:
            raise UsageError(f"{name}: its score cannot be read: {error}") from error
    if results is None:
        raise UsageError(f"{name} has no results, so there is no score")
    try:
        rows = read_rows(results)
    except Unreadable as error:
        raise UsageError(f"{name}: {error}") from error

    def measure(stage: Stage, *, setting: str | None, repeat: int) -> list[dict[str, float]]:
        return rows

    found = score(_once(scoring), measure)
    if found.valid and not complete:
        return msgspec.structs.replace(found, valid=False, why="its results are not complete")
    return found


def _once(scoring: Scoring) -> Scoring:
    """Let the last stage alone judge the rows of all its settings."""
    last = scoring.stages[-1]
    rows = None if last.rows is None else last.rows * max(1, len(last.sweep))
    stage = msgspec.structs.replace(last, repeats=1, sweep=(), rows=rows)
    return msgspec.structs.replace(scoring, stages=(stage,))
