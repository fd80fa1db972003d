"""Before anything is chosen on resume, every planned task is accounted for.

Knows the state and what the executor found; a task that nobody can account for is our bug, and nothing starts.
"""

from collections.abc import Mapping

from budwood._core.events import RunAccounted
from budwood._core.model import TaskPhase
from budwood._core.state import RunState
from budwood.engine.work import work_id
from budwood.errors import InternalError
from budwood.executors.base import Recovered


def account(state: RunState, found: Mapping[str, Recovered], *, open_before: int) -> RunAccounted:
    """Count every task once, after recovery. `open_before` is how many attempts were open when the driver came."""
    counts = state.counts
    still_open = [found.get(work_id(task)) for task in state.open.values() if not task.removed]
    adopted = still_open.count(Recovered.ADOPTED)
    unsent = still_open.count(Recovered.UNSENT)
    lost = sum(task.phase is TaskPhase.READY and task.lost > 0 for task in state.tasks if not task.removed)
    requeued = unsent + lost
    accounted = RunAccounted(
        done=counts[TaskPhase.DONE],
        failed=counts[TaskPhase.FAILED],
        skipped=counts[TaskPhase.SKIPPED],
        cancelled=counts[TaskPhase.CANCELLED],
        adopted=adopted,
        requeued=requeued,
        not_started=counts[TaskPhase.BLOCKED] + counts[TaskPhase.READY] - lost,
        planned=state.planned,
    )
    parts = (
        accounted.done,
        accounted.failed,
        accounted.skipped,
        accounted.cancelled,
        adopted,
        requeued,
        accounted.not_started,
    )
    if sum(parts) != accounted.planned or len(found) != open_before:
        raise InternalError(
            f"run {state.name}: {sum(parts)} of {accounted.planned} tasks and {len(found)} of {open_before} "
            "open attempts are accounted for; nothing was started",
            hint=f"budwood story {state.name} tells what happened; budwood store verify checks the store",
        )
    return accounted
