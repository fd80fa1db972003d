"""Which ready tasks are certain to be the next, whatever the open attempts come to, if only they succeed.

Those can be sent ahead of a free slot. Pure, and never a guess: what a success can release, or a limit or a budget can
hold back, is left to `schedule`, which looks when the slot is free. Knows the queue of ready tasks.
"""

from collections.abc import Container, Iterable
from heapq import heappop, heappush

from budwood._core.model import ENDED_TASK, RunPhase, TaskSpec
from budwood._core.schedule import MACHINE, is_current
from budwood._core.state import Rank, RunState, TaskState

_ANY: Rank = (-1, 0, 0, 0)
"""Comes before every task."""
_MOST_DEPENDANTS = 8
"""Of a task with more of them nobody looks which would be first: that would cost more than it gains."""


def may_look_ahead(state: RunState) -> bool:
    """Say whether the run has no budget that an end could spend, and is not held up."""
    limits = state.settings
    budgets = (limits.budget_usd, limits.budget_tokens, limits.budget_time_s, limits.max_attempts)
    return state.phase is RunPhase.ACTIVE and all(limit is None for limit in budgets)


def first_released(state: RunState, tasks: Iterable[TaskState]) -> Rank | None:
    """Return the first place in the queue that anybody can get when these tasks succeed; None if nobody can."""
    return min((rank for task in tasks if (rank := released_by(state, task)) is not None), default=None)


def released_by(state: RunState, task: TaskState) -> Rank | None:
    """Return the first place in the queue that anybody can get when a task succeeds; None if nobody can."""
    spec = task.spec if task.attempt is None else task.attempt.spec
    if _has_limits(spec):
        return _ANY  # those may follow that wait for the same lane, group or cpus
    hard, soft = state.dependants[task.number], state.soft_dependants[task.number]
    if not hard and not soft:
        return None
    dependants = (*hard, *soft)
    if len(dependants) > _MOST_DEPENDANTS:
        return _ANY
    waiting = [state.tasks[number] for number in dependants if state.tasks[number].phase not in ENDED_TASK]
    return min(((0, *other.rank[1:]) for other in waiting), default=None)


def take_next(state: RunState, now_ms: int, *, before: Rank | None, sent: Container[int]) -> TaskState | None:
    """Take the next task off the queue if it can be sent ahead, and comes before a place in it.

    Those `sent` before, by number, may be in the queue a second time: who wakes from a back-off is put there whether or
    not somebody had seen it in there before.
    """
    queue = state.queue
    while queue.ready and (queue.ready[0][3] in sent or not is_current(state.tasks[queue.ready[0][3]], queue.ready[0])):
        heappop(queue.ready)
    if not queue.ready or _machine_is_free(state):
        return None
    rank = queue.ready[0]
    task = state.tasks[rank[3]]
    if (before is not None and rank >= before) or task.not_before_ms > now_ms or not _is_plain(task):
        return None
    heappop(queue.ready)
    return task


def put_back(state: RunState, tasks: Iterable[TaskState]) -> None:
    """Let tasks queue again that were taken off and have not begun."""
    for task in tasks:
        heappush(state.queue.ready, task.rank)


def is_overtaken(state: RunState, task: TaskState) -> bool:
    """Say whether somebody queues who should start before a task that was taken off."""
    ready = state.queue.ready
    if _machine_is_free(state):
        return True
    return bool(ready) and ready[0] < task.rank and is_current(state.tasks[ready[0][3]], ready[0])


def _machine_is_free(state: RunState) -> bool:
    """Say whether there may be room for one that waits for cpus or gpus: whoever that is may come first."""
    return state.queue.machine_freed and bool(state.queue.parked.get(MACHINE))


def _is_plain(task: TaskState) -> bool:
    spec = task.spec
    # A time limit counts from the beginning of its call, so somebody must know when that is.
    is_free = spec.timeout_s is None and not task.soft_waiting
    return spec.function is not None and is_free and not _has_limits(spec)


def _has_limits(spec: TaskSpec) -> bool:
    return spec.lane is not None or spec.group is not None or bool(spec.cpus or spec.gpus)
