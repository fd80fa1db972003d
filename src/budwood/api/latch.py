"""Something that happens once, to be waited for by threads and by event loops alike.

Knows threads, asyncio and signals that come late; must not know runs. An event loop is only ever told by
`call_soon_threadsafe`, so that nothing here can block it.
"""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress

from budwood.project.listening import LISTEN_S, wait_listening


class Latch:
    """Is set once, and stays so."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._lock = threading.Lock()
        self._calls: list[Callable[[], None]] = []

    def set(self) -> None:
        """Let everybody go who waits; a second time is harmless."""
        with self._lock:
            self._event.set()
            calls, self._calls = self._calls, []
        for call in calls:
            call()

    @property
    def is_set(self) -> bool:
        """Whether it has happened."""
        return self._event.is_set()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait in this thread, for at most so long; say whether it has happened. Ctrl-C ends the wait."""
        return wait_listening(self._event.wait, timeout_s)

    async def reached(self, timeout_s: float | None = None) -> bool:
        """Wait in the running event loop, for at most so long; say whether it has happened."""
        loop = asyncio.get_running_loop()
        happened = asyncio.Event()

        def tell() -> None:
            with suppress(RuntimeError):  # the loop was closed meanwhile, and nobody waits in it any more
                loop.call_soon_threadsafe(happened.set)

        if not self._add(tell):
            return True
        try:
            async with asyncio.timeout(timeout_s):
                while not happened.is_set():
                    await _listening(happened)
        except TimeoutError:
            return self.is_set
        finally:
            self._discard(tell)
        return True

    def _add(self, call: Callable[[], None]) -> bool:
        with self._lock:
            if self._event.is_set():
                return False
            self._calls.append(call)
            return True

    def _discard(self, call: Callable[[], None]) -> None:
        with self._lock, suppress(ValueError):
            self._calls.remove(call)


async def _listening(happened: asyncio.Event) -> None:
    """Wait for a while: what a signal handler cancels, as a notebook's kernel does, a loop sees when it wakes up."""
    with suppress(TimeoutError):
        async with asyncio.timeout(LISTEN_S):
            await happened.wait()
