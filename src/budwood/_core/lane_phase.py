"""Where a lane stands: by its tasks, and by what the merge queue has come to with it.

Pure, from the state alone: so after a kill as before it. Must not know git.
"""

from collections.abc import Iterable, Sequence

from budwood._core.landing import comes_with_another
from budwood._core.model import ENDED_RUN, ENDED_TASK, LanePhase, Review, TaskPhase
from budwood._core.state import RunState, TaskState


def lane_phase(state: RunState, line: str, numbers: Iterable[int]) -> LanePhase:
    """Say where a line of history of these tasks stands."""
    tasks, landing = [state.tasks[number] for number in numbers], state.landing
    queued = state.wants_merging and state.phase not in ENDED_RUN
    if queued and _is_being_resolved(state, line):
        return LanePhase.MERGING
    if line in landing.conflicts:
        return LanePhase.CONFLICT
    by_tasks = phase_of(tasks)
    if by_tasks is LanePhase.OPEN:
        return by_tasks
    if line in landing.held:
        return LanePhase.BROKEN
    if queued and _is_joined(state, line) and not _is_rejected(tasks):
        return LanePhase.MERGING
    changed_nothing = all(task.phase is TaskPhase.DONE and task.review is None for task in tasks)
    merged = landing.merged.get(line)
    return LanePhase.MERGED if changed_nothing and merged and merged == state.heads.get(line) else by_tasks


def phase_of(tasks: Sequence[TaskState]) -> LanePhase:
    """Say where a lane of these tasks stands while no merge queue has seen it."""
    lost = [task for task in tasks if task.phase in ENDED_TASK and task.phase is not TaskPhase.DONE]
    if lost:
        return LanePhase.CONFLICT if any(task.error_type == "conflict" for task in lost) else LanePhase.HELD
    if not tasks or any(task.phase is not TaskPhase.DONE for task in tasks):
        return LanePhase.OPEN
    decided = [task.review for task in tasks if task.review is not None]
    return LanePhase.MERGED if decided and set(decided) == {Review.MERGED} else LanePhase.WAITING


def _is_being_resolved(state: RunState, line: str) -> bool:
    number = state.landing.resolves.get((line, state.heads.get(line, "")))
    return number is not None and state.tasks[number].phase not in ENDED_TASK


def _is_joined(state: RunState, line: str) -> bool:
    """Say whether a line is in what was merged last, and in no branch yet; or does not fit, and nobody is asked yet.

    What waits for another line's conflict to be solved is not worked on.
    """
    if line in state.landing.clashes:
        return not comes_with_another(state, line)
    last = next(reversed(state.landing.joins.values()), None)
    fits = last is not None and all(clash.line != line for clash in last.clashes)
    return last is not None and fits and (line, state.heads.get(line)) in last.lines


def _is_rejected(tasks: Iterable[TaskState]) -> bool:
    return any(task.review is Review.REJECTED for task in tasks)
