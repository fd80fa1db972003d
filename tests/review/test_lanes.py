"""Where a lane stands, from where its tasks do."""

import pytest

from budwood._core.model import Review, TaskPhase, TaskSpec
from budwood._core.state import TaskState
from budwood.review.lanes import LanePhase, phase_of


def task(phase: TaskPhase, review: Review | None = None, *, error_type: str = "") -> TaskState:
    return TaskState(number=0, spec=TaskSpec(id="a"), phase=phase, review=review, error_type=error_type)


DONE, FAILED = TaskPhase.DONE, TaskPhase.FAILED


@pytest.mark.parametrize(
    ("tasks", "phase"),
    [
        ([task(DONE, Review.MERGED), task(TaskPhase.READY)], LanePhase.OPEN),
        ([task(DONE, Review.APPROVED), task(TaskPhase.ACTIVE)], LanePhase.OPEN),
        ([task(DONE, Review.APPROVED), task(DONE, Review.WAITING)], LanePhase.WAITING),
        ([task(DONE, Review.MERGED), task(DONE, Review.REJECTED)], LanePhase.WAITING),
        ([task(DONE)], LanePhase.WAITING),
        ([task(DONE, Review.MERGED), task(DONE)], LanePhase.MERGED),
        ([task(DONE, Review.MERGED), task(FAILED, error_type="check")], LanePhase.HELD),
        ([task(TaskPhase.ACTIVE), task(TaskPhase.SKIPPED)], LanePhase.HELD),
        ([task(FAILED, error_type="conflict"), task(TaskPhase.SKIPPED)], LanePhase.CONFLICT),
    ],
)
def test_a_lane_stands_where_its_tasks_do(tasks: list[TaskState], phase: LanePhase) -> None:
    assert phase_of(tasks) is phase
