"""The workers of all slots: calls go in, ends come out.

Knows which slot has which call; must not know how a worker is made. All of it is called from the driver's loop.
"""

import shutil
import time
from collections.abc import Callable
from contextlib import suppress

from budwood._core.model import Outcome
from budwood.errors import BudwoodError
from budwood.executors.base import Work
from budwood.executors.local.ground import Ground
from budwood.executors.local.tokens import Tokens
from budwood.executors.local.workers.ahead import Ahead
from budwood.executors.local.workers.bench import BEGUN_AFTER_S, Bench

_LEAVE_WITHIN_S = 0.5


class Workers:
    """Makes calls."""

    def __init__(self, ground: Ground, *, tokens: Tokens | None, when_free: Callable[[], None]) -> None:
        self._ground = ground
        self._tokens = tokens
        self._when_free = when_free
        self._benches: dict[int, Bench] = {}
        self._open: dict[str, Bench] = {}
        self._ended: dict[str, bool] = {}
        """Calls that have ended and are not forgotten yet, and whether they have a directory."""
        self._ticks = False
        self._ahead = Ahead(ground.loop)

    def start(self, work: Work) -> None:
        """Make a call in its slot, which must be free."""
        bench = self._benches.get(work.slot)
        if bench is None:
            bench = self._benches[work.slot] = Bench(
                work.slot,
                self._ground,
                take_token=self._take_token,
                ahead=self._ahead,
                on_end=self._end,
                on_taken=self._take,
            )
        self._open[work.id] = bench
        bench.start(work)
        if not self._ticks:
            self._ticks = True
            self._ground.loop.later(BEGUN_AFTER_S, self._tick)

    def room_ahead(self) -> int:
        """Say how many calls may be sent before a worker is free for them."""
        benches = self._benches.values()
        if self._tokens is not None or any(bench.is_losing_its_worker for bench in benches):
            return 0
        return self._ahead.room(len(benches))

    def send_ahead(self, work: Work) -> bool:
        """Let a call wait for whichever worker is free first; False if it cannot."""
        return self._ahead.send(work)

    def take_back_first(self) -> str | None:
        """Take back the first of what was sent ahead and has not begun."""
        return self._ahead.take_back_first()

    def take_back(self) -> list[str]:
        """Take back what was sent ahead and has not begun."""
        calls = (bench.call for bench in self._benches.values())
        return self._ahead.take_back([call for call in calls if call is not None and call.sent_at is not None])

    def cancel(self, work_id: str) -> bool:
        """End a call, if it is one and open; say whether."""
        bench = self._open.get(work_id)
        if bench is not None:
            bench.cancel(work_id)
        return bench is not None

    def forget(self, work_id: str) -> bool:
        """Drop what is kept of an ended call, if it is one; say whether."""
        filed = self._ended.pop(work_id, None)
        if filed:
            shutil.rmtree(self._ground.place.paths.attempt(work_id), ignore_errors=True)
        return filed is not None

    def advance(self) -> bool:
        """Try again for calls that wait for a place on the machine; say whether any still does."""
        waiting = [bench for bench in self._benches.values() if bench.waits_for_token]
        for bench in waiting:
            bench.advance()
        return any(bench.waits_for_token for bench in waiting)

    def close(self) -> None:
        """Let all workers go: the idle ones in their own way, if that is soon; the others with this driver."""
        self._ahead.close()
        for bench in self._benches.values():
            bench.hang_up()
        until = time.monotonic() + _LEAVE_WITHIN_S
        for bench in self._benches.values():
            with suppress(BudwoodError):  # who leaves need not hear that another driver took over
                while (left_s := until - time.monotonic()) > 0 and bench.is_leaving(left_s):
                    pass
        for bench in self._benches.values():
            bench.leave()

    def _take_token(self) -> tuple[bool, int | None]:
        """Take a place on the machine, where those are counted; say whether there was one."""
        if self._tokens is None:
            return True, None
        token = self._tokens.take()
        if token is None:
            self._tokens.when_free(self._when_free)
        return token is not None, token

    def _end(self, work_id: str, outcome: Outcome, log: bytes | None, filed: bool) -> None:
        del self._open[work_id]
        self._ended[work_id] = filed
        self._ground.sink.ended(work_id, outcome, log=log)

    def _take(self, bench: Bench, work_id: str) -> None:
        self._open[work_id] = bench
        self._ground.sink.taken(work_id, slot=bench.number)

    def _tick(self) -> None:
        """One timer for all slots: what short calls need must not cost each of them one."""
        now = time.monotonic()
        self._ticks = sum(bench.tick(now) for bench in self._benches.values()) > 0
        if self._ticks:
            self._ground.loop.later(BEGUN_AFTER_S, self._tick)
