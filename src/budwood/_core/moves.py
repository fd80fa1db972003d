"""The tables of allowed state changes, as data: what is not listed cannot happen.

Knows the states. Must not know why a change is wanted.
"""

from typing import TypeVar

from budwood._core.model import AttemptPhase as A
from budwood._core.model import RunPhase as R
from budwood._core.model import TaskPhase as T
from budwood.errors import IllegalTransition

Phase = TypeVar("Phase", R, T, A)

RUN_MOVES = frozenset(
    {
        (R.ACTIVE, R.PAUSED),
        (R.ACTIVE, R.WAITING),
        (R.ACTIVE, R.FINISHED),
        (R.ACTIVE, R.CANCELLED),
        (R.WAITING, R.ACTIVE),
        (R.WAITING, R.PAUSED),
        (R.WAITING, R.FINISHED),
        (R.WAITING, R.CANCELLED),
        (R.PAUSED, R.ACTIVE),
        (R.PAUSED, R.FINISHED),  # what was still running when it was paused was the last
        (R.PAUSED, R.CANCELLED),
        (R.FINISHED, R.ACTIVE),  # retried, or its plan was edited
        (R.CANCELLED, R.ACTIVE),
    }
)

TASK_MOVES = frozenset(
    {
        (T.BLOCKED, T.READY),
        (T.BLOCKED, T.DONE),  # an edited plan asks again for what was done before
        (T.READY, T.ACTIVE),
        (T.ACTIVE, T.DONE),
        (T.ACTIVE, T.FAILED),
        (T.ACTIVE, T.CANCELLED),
        (T.ACTIVE, T.READY),  # another try, or its attempt said nothing about it
        (T.ACTIVE, T.BLOCKED),  # the plan was edited under it: what it stands on is to be made again
        (T.BLOCKED, T.SKIPPED),
        (T.READY, T.SKIPPED),
        (T.BLOCKED, T.CANCELLED),
        (T.READY, T.CANCELLED),
        (T.READY, T.BLOCKED),
        (T.DONE, T.BLOCKED),
        (T.FAILED, T.BLOCKED),
        (T.CANCELLED, T.BLOCKED),
        (T.SKIPPED, T.BLOCKED),
    }
)

_ENDINGS = (A.SUCCEEDED, A.FAILED, A.TIMED_OUT, A.CANCELLED, A.ABANDONED)
ATTEMPT_MOVES = frozenset(
    {
        (A.QUEUED, A.RUNNING),
        (A.RUNNING, A.NEEDS_INPUT),
        (A.NEEDS_INPUT, A.RUNNING),
        (A.QUEUED, A.SCORING),
        (A.RUNNING, A.SCORING),
        (A.NEEDS_INPUT, A.SCORING),
        *((A.QUEUED, ending) for ending in _ENDINGS),  # it ended before anybody heard that it began
        *((A.RUNNING, ending) for ending in _ENDINGS),
        *((A.NEEDS_INPUT, ending) for ending in _ENDINGS),
        *((A.SCORING, ending) for ending in _ENDINGS),
    }
)


def illegal(what: str, before: Phase, after: Phase) -> IllegalTransition:
    """Refuse a change that its table does not list."""
    return IllegalTransition(what, before=before.value, after=after.value)
