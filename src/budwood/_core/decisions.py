"""The decision log: one canonical line per task, in task order, of what was decided and nothing that merely happened.

No times, costs, attempt ids, slots or commit ids: two runs with the same seed and the same answers have the same
bytes, at any number of slots and through any crash.
"""

from collections.abc import Iterator

import msgspec

from budwood._core.model import TaskId, TaskPhase
from budwood._core.seeds import derive
from budwood._core.state import RunState, TaskState

_ENCODER = msgspec.json.Encoder(order="sorted")
_DECISION = {
    TaskPhase.DONE: "kept",
    TaskPhase.FAILED: "rejected",
    TaskPhase.SKIPPED: "skipped",
    TaskPhase.CANCELLED: "cancelled",
}


def decision_lines(state: RunState) -> Iterator[bytes]:
    """Give the lines of a run; a task that has not ended has the decision `open`."""
    causes: dict[int, int | None] = {}
    for task in state.tasks:
        if not task.removed:
            cause = _cause(state, task, causes) if task.phase is TaskPhase.SKIPPED else None
            yield _ENCODER.encode(
                _line(state, task, because=task.because if cause is None else state.tasks[cause].spec.id)
            )


def task_seed(state: RunState, task: TaskState, retry: int) -> int:
    """Return the seed that one try at a task gets as BUDWOOD_ATTEMPT_SEED."""
    return derive(state.settings.seed, task.key, retry=retry, purpose="task")


def _cause(state: RunState, task: TaskState, known: dict[int, int | None]) -> int | None:
    """Find the first task, in task order, whose failure this one could not have survived.

    Of several failures the one that came first in time named the skip; which that was depends on slots and speed.
    """
    stack = [task.number]
    while stack:
        number = stack[-1]
        unmet = [n for n in state.hard[number] if state.tasks[n].phase is not TaskPhase.DONE]
        open_ends = [n for n in unmet if state.tasks[n].phase is TaskPhase.SKIPPED and n not in known]
        if open_ends:
            stack += open_ends
            continue
        found = [known[n] if state.tasks[n].phase is TaskPhase.SKIPPED else n for n in unmet]
        known[number] = min((n for n in found if n is not None), default=None)
        stack.pop()
    return known[task.number]


def _line(state: RunState, task: TaskState, *, because: TaskId | None) -> dict[str, object]:
    return {
        "task": task.spec.id,
        "key": task.key,
        "parents": [state.tasks[n].key for n in state.hard[task.number]],
        "seed": task_seed(state, task, 0),
        "tries": task.tries,
        "outcome": task.error_type or ("ok" if task.phase is TaskPhase.DONE else ""),
        "because": because,
        "scores": {} if task.score is None else task.score.metrics,
        "tree": task.made.left.tree if task.made is not None and task.phase is TaskPhase.DONE else None,
        "decision": _DECISION.get(task.phase, "open") if task.judgement is None else task.judgement.decision,
    }
