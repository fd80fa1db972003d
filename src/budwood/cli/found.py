"""What became of open attempts while nobody drives their run: looked up in their directories, changing nothing.

Knows the files that the supervisor protocol names. What a driver will decide about them is the engine's.
"""

from enum import StrEnum
from pathlib import Path

from budwood._core.ids import attempt_id


class Found(StrEnum):
    """What is seen of an open attempt from outside."""

    RUNNING = "running"
    ENDED = "ended"
    """Its result is written, and nobody has taken it yet."""
    LOST = "lost"
    """It had begun, and its supervisor is gone without a result."""
    UNSENT = "unsent"
    """It was decided on and never begun."""
    REPEATED = "repeated"
    """It was the call of a function, and ended with its driver."""


def look_for(run_dir: Path, *, task: int, attempt: int, slot: int, begun: bool) -> Found:
    """Look what an open attempt has come to; `begun` says that the store knows of a process. Unknown is running."""
    from budwood.executors.local.leftovers import has_begun, is_alive

    directory = run_dir / "attempts" / attempt_id(task, attempt)
    try:
        # The lock first: a supervisor that leaves between the two looks has written its result before.
        alive = is_alive(run_dir / "slots" / str(slot))
        if (directory / "result.json").exists():
            return Found.ENDED
        if alive:
            return Found.RUNNING
        return Found.LOST if begun or has_begun(directory) else Found.UNSENT
    except PermissionError:  # another user's run
        return Found.RUNNING
