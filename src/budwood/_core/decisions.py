"""The decision log: one canonical line per task, in task order, of what was decided and nothing that merely happened.

No times, costs, attempt ids, slots or commit ids: two runs with the same seed and the same answers have the same
bytes, at any number of slots and through any crash.
"""

from collections.abc import Iterator

import msgspec

from budwood._core.model import TaskPhase
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
    for task in state.tasks:
        if not task.removed:
            yield _ENCODER.encode(_line(state, task))


def task_seed(state: RunState, task: TaskState, retry: int) -> int:
    """Return the seed that one try at a task gets as BUDWOOD_ATTEMPT_SEED."""
    return derive(state.settings.seed, task.key, retry=retry, purpose="task")


def _line(state: RunState, task: TaskState) -> dict[str, object]:
    return {
        "task": task.spec.id,
        "key": task.key,
        "parents": [state.tasks[n].key for n in state.hard[task.number]],
        "seed": task_seed(state, task, 0),
        "tries": task.tries,
        "outcome": task.error_type or ("ok" if task.phase is TaskPhase.DONE else ""),
        "because": task.because,
        "scores": {},
        "tree": None,
        "decision": _DECISION.get(task.phase, "open"),
    }
