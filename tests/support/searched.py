"""The events of a small search, for tests that look at what it has come to."""

from collections.abc import Iterator

from budwood._core.events import AttemptEnded, AttemptQueued, Event, RunCreated, TasksAdded
from budwood._core.model import AttemptError, AttemptPhase, RunSettings, TaskSpec
from budwood._core.scores import Direction, Score, Scoring, Stage
from budwood.testing.store_world import RUN

NOT_VALID = Score(value=1.0, valid=False, why="a row is missing")


def attempt(task: str, number: int, score: Score | None, *, fails: bool = False) -> Iterator[Event]:
    """Give the events of one attempt."""
    error = AttemptError(type="exit", message="no", attempt=number, max_retries=1, will_retry=True) if fails else None
    phase = AttemptPhase.FAILED if fails else AttemptPhase.SUCCEEDED
    yield AttemptQueued(task=task, attempt=number, slot=0, retry=number - 1)
    yield AttemptEnded(task=task, attempt=number, phase=phase, score=score, error=error)


def search(direction: Direction = "min", *, strategy: str = "best-of", root: float = 8.0) -> list[Event]:
    """Give the events of a search whose root is measured after the first of its attempts."""
    scoring = Scoring(stages=(Stage(run="score"),), direction=direction)
    names = ("root", "a", "b", "c", "d")
    return [
        RunCreated(run=RUN, name="night", settings=RunSettings(), strategy=strategy),
        TasksAdded(tasks=tuple(TaskSpec(id=name, run=("true",), retries=1, score=scoring) for name in names)),
        *attempt("a", 1, _scored(6.0)),
        *attempt("root", 1, _scored(root)),
        *attempt("b", 1, _scored(3.0), fails=True),
        *attempt("b", 2, _scored(4.0)),
        *attempt("c", 1, NOT_VALID),
        *attempt("d", 1, Score(value=None, valid=False, why="no number"), fails=True),
    ]


def _scored(value: float) -> Score:
    return Score(value=value, metrics={"score": value})
