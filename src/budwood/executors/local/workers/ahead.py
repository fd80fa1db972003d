"""Calls that are sent ahead, so that a worker need not wait for the driver between two short ones.

Knows the bag, what waits in it, and when that is worth it; must not know slots, or which call should come next. What
waits here has not begun, and nobody but the driver's memory knows of it.
"""

import time

from budwood.executors.base import Loop, Work
from budwood.executors.local.workers.bag import Bag
from budwood.executors.local.workers.identity import split
from budwood.executors.local.workers.wire import Told, ask, read_id
from budwood.executors.local.workers.worker import OpenCall

_DEPTH = 8
"""Calls that wait for each slot: so many are heard of, and sent, at once."""
_MOST = 128
_BRISK_S = 0.002
"""Calls that take longer gain nothing by it: the driver answers in a tenth of that."""
_SAYS_WITHIN_S = 5.0
"""A worker that took a call says so at once. If nobody did for so long, who took it has died before it began it."""


class Ahead:
    """What waits for workers."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._bag: Bag | None = None
        self._waiting: dict[str, OpenCall] = {}
        self._brisk = False
        self._missed_since: float | None = None

    def bag_for(self, call: OpenCall) -> Bag | None:
        """Return what the worker of a call may go on with after it; None if it is to wait for the driver.

        It must not after a call with a time limit: its supervisor knows of that limit until we say otherwise.
        """
        if call.work.timeout_s is not None or call.token is not None:
            return None
        if self._bag is None or self._bag.identity != call.identity:
            if self._waiting:
                return None
            self.close()
            self._bag = Bag(call.identity)
        return self._bag

    def note_pace(self, told: Told) -> None:
        """Learn from an answer whether calls are short just now."""
        self._brisk = told.error is None and told.wall_s < _BRISK_S

    def room(self, slots: int) -> int:
        """Say how many more calls may be sent; none before half of them are taken, so that many go at once."""
        most = min(_DEPTH * slots, _MOST) if self._brisk else 0
        return most - len(self._waiting) if len(self._waiting) <= most // 2 else 0

    def send(self, work: Work) -> bool:
        """Let a call wait in the bag; False if it cannot."""
        if self._bag is None or work.timeout_s is not None:
            return False
        identity, env = split(work)
        call = OpenCall(work, identity, env)
        if identity != self._bag.identity or not self._bag.put(ask(call, ahead=True)):
            return False
        self._waiting[work.id] = call
        return True

    def take(self, work_id: str) -> OpenCall | None:
        """Hand out a call that a worker has taken; None if it did not wait."""
        return self._waiting.pop(work_id, None)

    def take_back(self) -> list[str]:
        """Take everything back that no worker has taken; what is then missing is told of by the workers that did."""
        if self._bag is None or not self._waiting:
            return []
        back = [read_id(call) for call in self._bag.empty()]
        for work_id in back:
            self._waiting.pop(work_id, None)
        return back + self._give_up()

    def _give_up(self) -> list[str]:
        """Take back what was taken by somebody who will not say so: a worker that died just then."""
        now = time.monotonic()
        if not self._waiting:
            self._missed_since = None
        elif self._missed_since is None:
            self._missed_since = now
            self._loop.later(_SAYS_WITHIN_S, lambda: None)
        elif now - self._missed_since >= _SAYS_WITHIN_S:
            self._missed_since = None
            lost, self._waiting = list(self._waiting), {}
            return lost
        return []

    def close(self) -> None:
        """Let nobody take anything any more."""
        if self._bag is not None:
            self._bag.close()
            self._bag = None
