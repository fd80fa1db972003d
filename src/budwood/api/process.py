"""What this process drives: left in good order when the interpreter ends, and not taken along by a fork.

Knows that something can be left. Must not touch signals: they are the program's.
"""

import atexit
import os
import time
from collections.abc import Iterator
from typing import Protocol

LEAVE_WITHIN_S = 10.0


class Leaving(Protocol):
    """Something that can be told to go."""

    @property
    def run(self) -> str:
        """The id of the run that it drives."""

    def stop(self, *, now: str = "") -> None:
        """Start nothing new; with a reason, leave at once."""

    def join(self, timeout_s: float) -> bool:
        """Wait until it has left; say whether it has."""


_live: set[Leaving] = set()


def enter(driving: Leaving) -> None:
    """Note that something is driven."""
    if not _live:
        atexit.unregister(_leave_all)
        atexit.register(_leave_all)
    _live.add(driving)


def leave(driving: Leaving) -> None:
    """Note that it no longer is."""
    _live.discard(driving)


def drivings_of(run: str) -> Iterator[Leaving]:
    """Give what this process drives of a run; more than one only for the moment until the lease refuses one of them."""
    return (driving for driving in tuple(_live) if driving.run == run)


def _leave_all() -> None:
    """Leave every run at once: commands go on under their supervisors, calls of functions are made again."""
    until_s = time.monotonic() + LEAVE_WITHIN_S
    going = tuple(_live)
    for driving in going:
        driving.stop(now="the program ended")
    for driving in going:
        driving.join(max(0.0, until_s - time.monotonic()))


# The child has none of the threads that drive.
os.register_at_fork(after_in_child=_live.clear)
