"""How runs, tasks and attempts get from one phase to another, and what hangs on that.

Called by the machine only. Knows the tables in `moves`; must not know which events ask for a change.
"""

from collections.abc import Iterable
from heapq import heappush

from budwood._core.join import Joined
from budwood._core.model import ENDED_TASK, AttemptPhase, RunPhase, TaskPhase
from budwood._core.moves import ATTEMPT_MOVES, RUN_MOVES, TASK_MOVES, illegal
from budwood._core.state import AttemptState, RunState, TaskState
from budwood.errors import UnknownEvent


def move_task(state: RunState, task: TaskState, phase: TaskPhase) -> None:
    """Change a task's phase by the table, and what hangs on it: counts, the ready queue, dependants."""
    before = task.phase
    if (before, phase) not in TASK_MOVES:
        raise illegal(f"task {task.spec.id}", before, phase)
    task.phase = phase
    state.counts[before] -= 1
    state.counts[phase] += 1
    state.touched.tasks.add(task.number)
    if phase is TaskPhase.READY:
        heappush(state.queue.ready, task.rank)
    elif phase is TaskPhase.DONE:
        _release_dependants(state, task)
    elif before is TaskPhase.DONE:
        for number in state.dependants[task.number]:
            state.tasks[number].waiting += 1
    if (phase in ENDED_TASK) != (before in ENDED_TASK):
        _order_soft_dependants(state, task, by=-1 if phase in ENDED_TASK else 1)


def _release_dependants(state: RunState, task: TaskState) -> None:
    for number in state.dependants[task.number]:
        dependant = state.tasks[number]
        dependant.waiting -= 1
        if dependant.waiting == 0 and dependant.phase is TaskPhase.BLOCKED:
            move_task(state, dependant, TaskPhase.READY)


def _order_soft_dependants(state: RunState, task: TaskState, *, by: int) -> None:
    for number in state.soft_dependants[task.number]:
        dependant = state.tasks[number]
        dependant.soft_waiting += by
        if dependant.phase is TaskPhase.READY and dependant.soft_waiting == (by > 0):
            heappush(state.queue.ready, dependant.rank)  # the older entry no longer equals its rank, so it is stale


def want_again(state: RunState, tasks: Iterable[TaskState], *, restored: Iterable[TaskState] = ()) -> None:
    """Put tasks back: ready if all they need is done, else blocked; those `restored` are done, as they once were."""
    wanted, done = list(tasks), list(restored)
    for task in (*wanted, *done):
        if task.phase is not TaskPhase.BLOCKED:
            move_task(state, task, TaskPhase.BLOCKED)
        task.tries = task.rounds = task.lost = task.not_before_ms = 0
        task.because = None
        task.error_type = ""
        task.cancelling = False
        task.notes, task.go_on = (), None
    for task in done:
        task.tries = task.tries_until_done(task.key) or 0
        if task.phase is TaskPhase.READY:  # one restored before it was the last that it waited for
            move_task(state, task, TaskPhase.BLOCKED)
        move_task(state, task, TaskPhase.DONE)
    for task in wanted:  # only now: one of them may have been what another waited for
        if task.waiting == 0 and task.phase is TaskPhase.BLOCKED:
            move_task(state, task, TaskPhase.READY)


def let_in(state: RunState, joined: Joined) -> None:
    """Queue tasks that joined, and those whose place in the queue is another by that."""
    for task in joined.held:
        move_task(state, task, TaskPhase.BLOCKED)
    for task in joined.moved:
        if task.phase is TaskPhase.READY:
            heappush(state.queue.ready, task.rank)  # the older entry no longer equals its rank, so it is stale
    for task in joined.added:
        if task.waiting == 0 and task.phase is TaskPhase.BLOCKED:
            move_task(state, task, TaskPhase.READY)


def move_run(state: RunState, phase: RunPhase) -> None:
    if state.phase is phase:
        return
    if (state.phase, phase) not in RUN_MOVES:
        raise illegal(f"run {state.name}", state.phase, phase)
    state.phase = phase
    if phase is RunPhase.ACTIVE:
        state.pause_kind = state.reason = ""
        state.ended_at_ms = None
        state.cancelled = False


def move_attempt(task: TaskState, number: int, phase: AttemptPhase) -> AttemptState:
    attempt = task.attempt
    before = task.ended if attempt is None else attempt.phase
    if before is None or task.attempts != number:
        raise UnknownEvent(f"attempt {number} of task {task.spec.id} is not the task's newest")
    if attempt is None or (before, phase) not in ATTEMPT_MOVES:  # no move leads away from an end
        raise illegal(f"attempt {number} of task {task.spec.id}", before, phase)
    attempt.phase = phase
    return attempt
