"""What the engine must do once an event is durable: the machine's only way to touch the world.

Knows ids and numbers. Must not know how anything is done.
"""

from msgspec import Struct

from budwood._core.events import LaneConflicted
from budwood._core.model import TaskId, TaskSpec


class StartAttempt(Struct, frozen=True):
    """Hand the attempt to its slot's supervisor."""

    task: int
    attempt: int


class CancelAttempt(Struct, frozen=True):
    """End the attempt's processes; it will report its end."""

    task: int
    attempt: int


class ForgetAttempt(Struct, frozen=True):
    """Its end is in the store: its directory may go, its slot is free."""

    task: int
    attempt: int


class WakeTask(Struct, frozen=True):
    """Look at the task again after its back-off."""

    task: int
    delay_s: float


class WakeAccount(Struct, frozen=True):
    """Look at the tasks again that wait for the end of an account's limit."""

    account: str
    until_ms: int


class AcceptCandidate(Struct, frozen=True):
    """Let the branch of a lane stand at what was accepted in it."""

    lane: str
    commit: str


class Tip(Struct, frozen=True):
    """A line of history: where it has come to, and how its merge is described."""

    line: str
    head: str
    message: str


class JoinLines(Struct, frozen=True, kw_only=True):
    """Merge lines of history in objects alone, each group whole or not at all."""

    groups: tuple[tuple[Tip, ...], ...]
    published: str
    """What to start from: where the run's branch stands, or the run's base."""
    shadow: str
    into: str
    """A branch of the user's that is to be in it as well; empty if there is none."""
    squash: bool


class PublishJoint(Struct, frozen=True, kw_only=True):
    """Move the run's branch to what was merged, and the user's, if that is still where it was."""

    lines: tuple[tuple[str, str], ...]
    commit: str
    into: str
    target: str
    """Where the user's branch stood."""
    tasks: tuple[TaskId, ...]


class SolveConflict(Struct, frozen=True, kw_only=True):
    """Make a directory in which the conflicts of a line can be solved, or what an agent needs for that."""

    line: str
    head: str
    onto: str
    branch: str
    agent: TaskSpec | None
    """The task that is to solve it; its start and files are filled in. None: a person."""


class LookAtConflict(Struct, frozen=True, kw_only=True):
    """Look whether somebody has solved it."""

    conflict: LaneConflicted


Chore = JoinLines | PublishJoint | SolveConflict | LookAtConflict
"""What the merge queue wants done; its end is told as events."""
Command = StartAttempt | CancelAttempt | ForgetAttempt | WakeTask | WakeAccount | AcceptCandidate
