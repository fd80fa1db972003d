"""Calls that are sent ahead, so that a worker need not wait for the driver between two short ones.

Knows the bag, what waits in it, and when that is worth it; must not know slots, or which call should come next. What
waits here has not begun, and nobody but the driver's memory knows of it.
"""

import time
from collections.abc import Collection

from budwood.executors.base import Loop, Work
from budwood.executors.local.workers.bag import Bag
from budwood.executors.local.workers.identity import split
from budwood.executors.local.workers.wire import Told, ask, read_id
from budwood.executors.local.workers.worker import OpenCall

_DEPTH = 32
"""Calls that wait for each slot: so many are heard of, and sent, at once."""
_MOST = 128
_BRISK_S = 0.002
"""Calls that take longer gain nothing by it: the driver answers in a tenth of that."""
_SAYS_WITHIN_S = 5.0
"""A worker that took a call says so at once. If one has died and nobody did for so long, it was that one."""


class Ahead:
    """What waits for workers."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._bag: Bag | None = None
        self._waiting: dict[str, OpenCall] = {}
        self._brisk = False
        self._died = False
        """Whether a worker has ended since everything was last accounted for."""
        self._missed: set[str] = set()
        """What was neither in the bag nor told of when we last looked."""
        self._missed_since = 0.0
        self._suspects: set[OpenCall] = set()
        """Calls after which a worker can have taken what is missed, and has not said so yet."""

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

    def take(self, work_id: str, bag: Bag | None) -> OpenCall | None:
        """Hand out a call that a worker has taken from its bag; None if it did not wait there."""
        return self._waiting.pop(work_id, None) if bag is self._bag else None

    def note_death(self, bag: Bag | None) -> None:
        """Note that a worker has ended, and that all was heard that it said: it may have taken a call with it."""
        self._died = self._died or (bag is not None and bag is self._bag)

    def take_back_first(self) -> str | None:
        """Take the first back that no worker has taken, if there is one."""
        call = None if self._bag is None or not self._waiting else self._bag.take()
        if call is None:
            return None
        work_id = read_id(call)
        del self._waiting[work_id]
        return work_id

    def take_back(self, under_way: Collection[OpenCall]) -> list[str]:
        """Take everything back that no worker has taken; what is then missing is told of by the workers that did.

        `under_way` are the calls that workers are in as far as we have heard. Whoever has taken another one is among
        them, because both are told in one line.
        """
        back = [] if self._bag is None or not self._waiting else [read_id(call) for call in self._bag.empty()]
        for work_id in back:
            del self._waiting[work_id]
        self._miss(under_way)
        return back + self._give_up()

    def _miss(self, under_way: Collection[OpenCall]) -> None:
        """Note what is missing, and who can have taken it: who was in a call then, and has not been heard since."""
        missing = set(self._waiting)
        if missing <= self._missed:
            self._suspects.intersection_update(under_way)
        else:
            self._suspects = set(under_way)
            self._missed_since = time.monotonic()
        self._missed = missing
        self._died = self._died and bool(missing)

    def _give_up(self) -> list[str]:
        """Take back what was taken by somebody who will not say so: a worker that died just then.

        It is certain when everybody else was heard. Where one of those is in a long call, it is all but certain after a
        while: then a new bag takes the place of this one, and who says that it took something from it is not believed.
        """
        left_s = self._missed_since + _SAYS_WITHIN_S - time.monotonic()
        if self._missed and self._suspects and self._died and left_s > 0:
            self._loop.later(left_s, lambda: None)
        if not self._missed or (self._suspects and (left_s > 0 or not self._died)):
            return []
        lost, self._waiting, self._missed = list(self._waiting), {}, set()
        self.close()
        return lost

    def close(self) -> None:
        """Let nobody take anything any more."""
        if self._bag is not None:
            self._bag.close()
            self._bag = None
