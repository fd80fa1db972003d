"""Hands every event of a drive to a callback: in order, once each, when it is durable, from a thread of its own.

The driver only leaves events here and never waits. A callback that falls far behind is served from the store instead,
so that nothing piles up in memory. One that raises is told so once and hears the rest all the same. Knows callbacks and
listeners; must not know drivers.
"""

import asyncio
import inspect
import threading
import warnings
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from concurrent.futures import wait as wait_for
from functools import partial
from itertools import takewhile
from typing import TYPE_CHECKING

from budwood._core.events import Recorded
from budwood.api.event import Event
from budwood.api.latch import Latch
from budwood.api.look import Look
from budwood.project.listening import wait_listening
from budwood.stores import Store

if TYPE_CHECKING:
    from budwood.api.run import Run

OnEvent = Callable[[Event], object]
"""What a program hears events with; what it returns is waited for if that is possible, and otherwise ignored."""
MOST_HELD = 10_000
"""So many events wait in memory; what comes after them is read back from the store."""
_LOOK_EVERY_S = 0.1


class Hearing:
    """One callback's ear on one drive."""

    def __init__(
        self, callback: OnEvent, *, run: "Run", look: Look, loop: asyncio.AbstractEventLoop | None = None
    ) -> None:
        self._callback = callback
        self._run = run
        self._look = look
        self._loop = loop
        self._runner: asyncio.Runner | None = None
        self._thread = threading.Thread(target=self._work, name="budwood on_event", daemon=True)
        self.done = Latch()
        """Set when everything was handed over."""
        self.error: BaseException | None = None
        """The first thing that the callback raised."""
        self._heard = 0
        """The last event that the callback has heard of; written by this thread alone once it runs."""
        # From here on shared by the driver's thread and this one's; guarded by `_news`.
        self._news = threading.Condition()
        self._held: deque[Sequence[Recorded]] = deque()
        self._size = self._last = 0
        self._behind = self._over = False
        self._in_loop = False
        """Whether the callback is being awaited in the program's event loop."""

    def begin(self) -> None:
        """Begin to listen."""
        self._thread.start()

    # --- the driver's thread ---

    def __call__(self, events: Sequence[Recorded]) -> None:
        """Take what was just made durable; quick, and raises nothing."""
        if not events:
            return
        with self._news:
            if not self._last:
                self._heard = events[0].number - 1
            self._last = events[-1].number
            if self._size >= MOST_HELD:
                self._behind = True
            if not self._behind:
                self._held.append(events)
                self._size += len(events)
            self._news.notify_all()

    def finish(self) -> None:
        """Say that no more events come."""
        with self._news:
            self._over = True
            self._news.notify_all()

    # --- who waits for it ---

    @property
    def missing(self) -> int:
        """How many events the callback has not heard of."""
        with self._news:
            return self._last - self._heard

    def is_called_in(self, thread: threading.Thread) -> bool:
        """Say whether a thread is the one that calls the callback: if it waited here, it would wait for itself."""
        return thread is self._thread

    def is_held_up_here(self) -> bool:
        """Say whether the callback is being awaited in this thread's event loop, which whoever waits here blocks."""
        try:
            return self._in_loop and self._loop is asyncio.get_running_loop()
        except RuntimeError:  # no loop runs in this thread
            return False

    def catch_up(self, within_s: float) -> bool:
        """Wait in this thread until everything was heard, or cannot be while it waits; say whether everything was."""
        with self._news:
            enough = partial(self._news.wait_for, lambda: self.done.is_set or self.is_held_up_here())
            wait_listening(enough, within_s)
        return self.done.is_set

    # --- the thread of its own ---

    def _work(self) -> None:
        store: Store | None = None
        try:
            while True:
                found = self._next()
                if found is None:
                    return
                if isinstance(found, int):
                    store = store or self._look.open()
                    found = _until(found, store.read(self._look.run, self._heard))
                self._hand_over(found)
        except Exception as error:  # of the store: what was not heard can still be read by `run.events`
            self._note(error, "cannot be served any more")
        finally:
            if store is not None:
                store.close()
            if self._runner is not None:
                self._runner.close()
            self.done.set()
            with self._news:
                self._news.notify_all()

    def _next(self) -> Iterable[Recorded] | int | None:
        """Wait for events; a number says that those up to it are to be read back, None that there are no more."""
        with self._news:
            self._news.wait_for(lambda: self._held or self._heard < self._last or self._over)
            if self._held:
                events = self._held.popleft()
                self._size -= len(events)
                return events
            if self._heard < self._last:
                return self._last
            return None

    def _hand_over(self, events: Iterable[Recorded]) -> None:
        for recorded in events:
            try:
                given = self._callback(Event(self._run, recorded))
                if given is not None and inspect.isawaitable(given):
                    self._finish(given)
            except BaseException as error:  # whatever it raises is no reason for a run to fail
                self._note(error, f"failed at event {recorded.number}")
            self._heard = recorded.number
        with self._news:
            if self._heard == self._last:  # only now: what the driver leaves from here on comes right behind it
                self._behind = False

    def _finish(self, given: Awaitable[object]) -> None:
        """Wait for an asynchronous callback, in the event loop that `start` was called in, else in one of our own."""

        async def wait() -> None:
            await given

        try:
            if self._loop is None:
                self._runner = self._runner or asyncio.Runner()
                self._runner.run(wait())
            else:
                self._finish_in(self._loop, wait())
        finally:
            if inspect.iscoroutine(given):
                given.close()  # one that was never begun would complain

    def _finish_in(self, loop: asyncio.AbstractEventLoop, waiting: Coroutine[None, None, None]) -> None:
        try:
            future = asyncio.run_coroutine_threadsafe(waiting, loop)
            self._note_in_loop(now=True)
            # What a loop had not begun when it was closed will never end, and nobody tells.
            while not wait_for([future], _LOOK_EVERY_S).done:
                if loop.is_closed():
                    raise RuntimeError("the event loop that budwood.start() was called in is closed")
            future.result()
        finally:
            self._note_in_loop(now=False)
            waiting.close()

    def _note_in_loop(self, *, now: bool) -> None:
        with self._news:
            self._in_loop = now
            self._news.notify_all()

    def _note(self, error: BaseException, what: str) -> None:
        if self.error is not None:
            return
        self.error = error
        text = f"on_event {what}: {type(error).__name__}: {error}; the run goes on, run.callback_error has it"
        try:
            warnings.warn(text, RuntimeWarning, stacklevel=2)
        except RuntimeWarning:  # where warnings are errors: this thread has nobody to raise it to
            return


def _until(last: int, events: Iterable[Recorded]) -> Iterable[Recorded]:
    """Read on, but not ahead of what the driver told: that will come once more."""
    return takewhile(lambda each: each.number <= last, events)
