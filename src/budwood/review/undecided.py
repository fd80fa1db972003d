"""What has changes and no decision yet, and what a task has come to.

Knows the state of a run; must not know git or files.
"""

from collections.abc import Iterator

from msgspec import Struct

from budwood._core.candidates import lane_of
from budwood._core.model import ENDED_TASK, AttemptPhase, Review, TaskId, TaskPhase
from budwood._core.scores import Score
from budwood._core.state import Made, RunState, TaskState


class Undecided(Struct, frozen=True, kw_only=True):
    """What a task made, for somebody who decides about it."""

    task: TaskId
    attempt: int
    lane: str
    outcome: AttemptPhase
    files: int
    lines_added: int
    lines_removed: int
    cost_usd: float
    guessed_usd: float
    """The part of that which no attempt has said."""
    untold: int
    """Attempts that did not say what they cost."""
    agent: str
    score: Score | None


def come_to(task: TaskState) -> Made | None:
    """Return what a task has come to: of one that is done what was accepted, else what its newest attempt left."""
    return task.made if task.phase is TaskPhase.DONE else task.last


def undecided(state: RunState) -> Iterator[Undecided]:
    """List what has changes and no decision, in task order; what failed and left changes is listed too."""
    for task in state.tasks:
        made = come_to(task)
        if made is None or not made.left.files or task.removed or task.spec.errand is not None or not _is_open(task):
            continue
        yield Undecided(
            task=task.spec.id,
            attempt=made.attempt,
            lane=lane_of(task.spec),
            outcome=AttemptPhase.SUCCEEDED if task.phase is TaskPhase.DONE else task.ended or AttemptPhase.FAILED,
            files=made.left.files,
            lines_added=made.left.lines_added,
            lines_removed=made.left.lines_removed,
            cost_usd=round(task.cost_usd, 6),
            guessed_usd=round(task.guessed_usd, 6),
            untold=task.untold,
            agent="" if made.told is None else made.told.agent,
            score=task.score,
        )


def _is_open(task: TaskState) -> bool:
    if task.phase is TaskPhase.DONE:
        return task.review is Review.WAITING
    return task.phase in ENDED_TASK and task.review is None
