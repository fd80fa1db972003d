"""Events of a run to go through, with `for` and with `async for`: those that are there, or all until it rests.

Knows how to wait for the next one, from a thread and from an event loop, without ever blocking the loop.
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from budwood._core.events import Recorded
from budwood.api.event import Event
from budwood.api.inside import Inside
from budwood.api.look import LOOK_EVERY_S, PAGE
from budwood.errors import UsageError

if TYPE_CHECKING:
    from budwood.api.run import Run

_NUMBERS = range(2**63)
"""What a store can be asked for."""


class Events:
    """The events behind a number, oldest first."""

    def __init__(self, run: "Run", inside: Inside, *, after: int, follow: bool) -> None:
        if type(after) is not int or after not in _NUMBERS:
            raise UsageError(f"after is {after!r}; it takes the number of an event, or 0 for all of them")
        self._run = run
        self._inside = inside
        self._after = after
        self._follow = follow

    def __iter__(self) -> Iterator[Event]:
        after = self._after
        rung = threading.Event()
        detach = self._inside.listen(rung.set)
        try:
            while True:
                rung.clear()
                page, last = self._page(after)
                yield from (Event(self._run, recorded) for recorded in page)
                after = page[-1].number if page else after
                if last:
                    return
                if not page and self._is_ours():
                    rung.wait(LOOK_EVERY_S)
        finally:
            detach()

    async def __aiter__(self) -> AsyncIterator[Event]:
        after = self._after
        rung = asyncio.Event()
        detach = self._inside.listen(_threadsafe(asyncio.get_running_loop(), rung.set))
        try:
            while True:
                rung.clear()
                page, last = await asyncio.to_thread(self._page, after)
                for recorded in page:
                    yield Event(self._run, recorded)
                after = page[-1].number if page else after
                if last:
                    return
                if not page and self._is_ours():
                    await _wait(rung)
        finally:
            detach()

    def _page(self, after: int) -> tuple[list[Recorded], bool]:
        """Read on; what our own driver does is rung for, so that only another's is waited for here."""
        ours = self._is_ours()
        page, last = self._inside.look.page(after, wait_s=LOOK_EVERY_S if self._follow and not ours else 0.0)
        if self._follow:
            return page, last and not ours
        return page, len(page) < PAGE

    def _is_ours(self) -> bool:
        return self._inside.at_work is not None


async def _wait(rung: asyncio.Event) -> None:
    try:
        async with asyncio.timeout(LOOK_EVERY_S):
            await rung.wait()
    except TimeoutError:
        return


def _threadsafe(loop: asyncio.AbstractEventLoop, call: Callable[[], object]) -> Callable[[], None]:
    def ring() -> None:
        with suppress(RuntimeError):  # the loop was closed: nobody goes on in it
            loop.call_soon_threadsafe(call)

    return ring
