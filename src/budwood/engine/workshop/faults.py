"""What went wrong around an attempt, as its outcome.

Knows errors; must not know what was tried.
"""

import errno
import os

import msgspec

from budwood._core.model import AttemptPhase, Outcome, Usage
from budwood.errors import BudwoodError, UsageError
from budwood.workspaces.leases import Gone
from budwood.workspaces.merging import Conflict

_FULL = (errno.ENOSPC, errno.EDQUOT)


def fault(error: BudwoodError | OSError, *, after: Outcome | None = None) -> Outcome:
    """Say that an attempt could not have, or could not leave, a workspace; one that was cancelled stays cancelled."""
    message = error.message if isinstance(error, BudwoodError) else str(error)
    if after is not None and after.phase in (AttemptPhase.CANCELLED, AttemptPhase.ABANDONED):
        return msgspec.structs.replace(after, message=f"{after.message}; {message}")
    # Who could not begin has cost nothing; that is not unknown.
    start = Outcome(phase=AttemptPhase.FAILED, usage=Usage(cost_usd=0.0, tokens=0)) if after is None else after
    return msgspec.structs.replace(start, phase=AttemptPhase.FAILED, error_type=_kind(error), message=message)


def _kind(error: BudwoodError | OSError) -> str:
    match error:
        case Conflict():
            return "conflict"
        case Gone():
            return "gone"
        case OSError(errno=number) if number in _FULL:
            return "disk_full"
        case UsageError():
            return "setup"
        case _:
            return "disk_full" if any(os.strerror(number) in str(error) for number in _FULL) else "workspace"
