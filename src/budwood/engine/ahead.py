"""Tasks whose calls were sent ahead of a free slot, so that workers need not wait for the driver between short calls.

They are chosen and not yet recorded: in the run's state they are ready, until a worker says that it has begun one.
Whatever else could change what is next (a request, a failure, a free slot) waits until they are taken back, and until
those are told of that could not be. Knows the schedule and the executor; must not know how calls travel.
"""

from itertools import chain

from budwood._core.ahead import first_released, is_overtaken, may_look_ahead, put_back, released_by, take_next
from budwood._core.events import AttemptQueued
from budwood._core.ids import task_number
from budwood._core.state import RunState, TaskState
from budwood.engine.work import make_next_work
from budwood.executors.base import Executor


class Ahead:
    """What was sent ahead and is not known to have begun."""

    def __init__(self, state: RunState, executor: Executor) -> None:
        self._state = state
        self._executor = executor
        self._sent: dict[int, TaskState] = {}

    def fill(self, now_ms: int) -> None:
        """Send the next calls ahead, in the order in which they would start anyway."""
        state, sent = self._state, self._sent
        if sent and is_overtaken(state, next(reversed(sent.values()))) and not self.withdraw():
            return
        room = self._executor.room_ahead()
        if not room or not may_look_ahead(state):
            return
        before = first_released(state, chain(state.open.values(), sent.values()))
        while room and (task := take_next(state, now_ms, before=before, sent=sent)) is not None:
            work = make_next_work(state, task)
            if not self._executor.send_ahead(work):
                put_back(state, [task])
                return
            sent[task.number] = task
            room -= 1
            released = released_by(state, task)
            before = released if before is None or (released is not None and released < before) else before

    def bring_back(self, *, slot: int) -> AttemptQueued | None:
        """Take the first back, for a slot that is free; None if nothing waits, or not all that does is next."""
        state, sent = self._state, self._sent
        if not sent or not may_look_ahead(state) or is_overtaken(state, next(reversed(sent.values()))):
            return None
        first = self._executor.take_back_first()
        return None if first is None else self.begin(first, slot=slot)

    def begin(self, work_id: str, *, slot: int) -> AttemptQueued:
        """Say what is to be recorded of a call that begins."""
        task = self._sent.pop(task_number(work_id))
        return AttemptQueued(task=task.spec.id, attempt=task.attempts + 1, slot=slot, retry=task.tries)

    def withdraw(self) -> bool:
        """Take everything back; say whether nothing is left of which we must hear first."""
        if self._sent:
            put_back(self._state, [self._sent.pop(task_number(name)) for name in self._executor.take_back()])
        return not self._sent
