"""Events as YokeFlow's progress callbacks get them: batches and tasks that start and complete.

Knows those callbacks' fields and our events. Must not know who drives, or where events come from: it follows the run
by folding what it is shown.
"""

from collections import Counter
from collections.abc import Iterable, Iterator

from budwood._core.events import (
    AttemptEnded,
    AttemptQueued,
    Event,
    PlanRevised,
    Recorded,
    TaskCreated,
    TasksAdded,
    TaskUpdated,
    about,
)
from budwood._core.model import ENDED_TASK, TaskId, TaskPhase
from budwood._core.replay import fold
from budwood._core.state import RunState, TaskState

YokeflowEvent = dict[str, object]


class Translator:
    """Follows one run. A batch starts with its first task and completes with its last; completions come in order.

    There is no barrier between batches: a later one may start before an earlier one is complete. Nothing is said of
    batches in which nothing ever ran. One that gets
    something to do when it is complete (an edited plan, a retry, a strategy's next answer) starts once more.
    """

    def __init__(self) -> None:
        self._state = RunState()
        self._sizes: Counter[int] = Counter()
        self._open: dict[int, set[int]] = {}
        """By batch, its tasks that have not ended."""
        self._known = 0
        self._begun: set[int] = set()
        """Batches that were reported as started."""
        self._started: set[str] = set()
        self._reported: set[int] = set()
        """Batches that were reported as complete."""
        self._over = 0
        """Batches up to this one are over, and were reported if they had begun."""

    @property
    def number(self) -> int:
        """The last event that it was shown."""
        return self._state.number

    def translate(self, recorded: Recorded) -> Iterator[YokeflowEvent]:
        """Take the next event, and say what it means there."""
        fold([recorded], self._state)
        self._count(recorded.event)
        match recorded.event:
            case AttemptQueued(task=task):
                for state in self._wanted([task]):
                    yield from self._start(state)
            case AttemptEnded(task=task, measure=measure):
                for state in self._wanted([task]):
                    yield from self._end(state, duration_s=measure.wall_s)
        yield from self._complete()

    def _wanted(self, tasks: Iterable[TaskId]) -> list[TaskState]:
        """Find tasks that the plan has; attempts at one that it has lost still report their end."""
        found = (self._state.by_id.get(str(task)) for task in tasks)
        return [task for task in found if task is not None and _is_planned(task)]

    def _count(self, event: Event) -> None:
        """Keep up with which tasks are in which batch, and which have ended."""
        revised = isinstance(event, PlanRevised | TaskCreated | TaskUpdated)
        if revised:  # batches may be others now
            self._sizes.clear()
            self._open.clear()
            self._known = self._over = 0
        new = [task for task in self._state.tasks[self._known :] if _is_planned(task)]
        self._known = len(self._state.tasks)
        self._sizes.update(task.batch for task in new)
        for task in new if revised or isinstance(event, TasksAdded) else self._wanted(about(event)):
            waits = self._open.setdefault(task.batch, set())
            if task.phase in ENDED_TASK:
                waits.discard(task.number)
            else:
                waits.add(task.number)
                self._reopen(task.batch)

    def _reopen(self, batch: int) -> None:
        """Let a batch that was complete, and has something to do again, start and complete once more."""
        self._over = min(self._over, batch - 1)
        if batch in self._reported:
            self._reported.remove(batch)
            self._begun.discard(batch)

    def _start(self, task: TaskState) -> Iterator[YokeflowEvent]:
        if task.batch not in self._begun:
            self._begun.add(task.batch)
            yield {"type": "batch_started", "batch_number": task.batch, "task_count": self._sizes[task.batch]}
        if str(task.spec.id) not in self._started:
            self._started.add(str(task.spec.id))
            yield {"type": "task_started", **_about(task)}

    def _end(self, task: TaskState, *, duration_s: float) -> Iterator[YokeflowEvent]:
        if task.phase is TaskPhase.DONE:
            yield {"type": "task_complete", **_about(task), "duration": duration_s, "cost": task.cost_usd}
        elif task.phase is TaskPhase.FAILED:
            fields = {"duration": duration_s, "cost": task.cost_usd, "error": task.error_type}
            yield {"type": "task_failed", **_about(task), **fields}

    def _complete(self) -> Iterator[YokeflowEvent]:
        """Report every batch that is over, the first first."""
        while self._over < len(self._sizes) and not self._open.get(self._over + 1):
            self._over += 1
            if self._over in self._begun and self._over not in self._reported:
                self._reported.add(self._over)
                size = self._sizes[self._over]
                yield {"type": "batch_complete", "batch_number": self._over, "task_count": size}


def _is_planned(task: TaskState) -> bool:
    """Say whether the plan has a task: some it has lost, and errands of the merge queue it never had."""
    return not task.removed and task.spec.errand is None


def _about(task: TaskState) -> dict[str, TaskId | int | None]:
    return {"task_id": task.spec.id, "epic_id": task.spec.lane, "batch_number": task.batch}
