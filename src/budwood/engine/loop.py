"""The driver's loop: one selector, one heap of timers, one way to wake it from another thread.

It waits in the kernel and nowhere else. Knows descriptors and the monotonic clock; must not know runs.
"""

import os
import selectors
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from heapq import heappop, heappush
from itertools import count

_Callbacks = tuple[Callable[[], None], Callable[[], None] | None]


class SelectorLoop:
    """Waits for descriptors, timers and other threads."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._watched: dict[int, _Callbacks] = {}
        self._timers: list[tuple[float, int, Callable[[], None]]] = []
        self._ticket = count()
        self._wake_lock = threading.RLock()  # a signal handler may wake us while another one does
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_read, False)
        os.set_blocking(self._wake_write, False)
        self.watch(self._wake_read, self._drain)

    def watch(self, fd: int, on_readable: Callable[[], None], *, on_writable: Callable[[], None] | None = None) -> None:
        """Call back when the descriptor is readable (or writable); watching again replaces the call-backs."""
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if on_writable is not None else 0)
        if fd in self._watched:
            self._selector.modify(fd, events)
        else:
            self._selector.register(fd, events)
        self._watched[fd] = (on_readable, on_writable)

    def forget(self, fd: int) -> None:
        """Stop watching; harmless if it is not watched."""
        if self._watched.pop(fd, None) is not None:
            self._selector.unregister(fd)

    def later(self, delay_s: float, call: Callable[[], None]) -> None:
        """Call once, after a while."""
        heappush(self._timers, (time.monotonic() + delay_s, next(self._ticket), call))

    def wake(self) -> None:
        """End the current wait, from any thread; harmless when the loop is closed."""
        with self._wake_lock:
            if self._wake_write >= 0:
                with suppress(BlockingIOError):  # the pipe is full of wake-ups already
                    os.write(self._wake_write, b"!")

    def turn(self) -> None:
        """Wait for something to happen, then let everybody know whom it concerns."""
        timeout = None
        if self._timers:
            timeout = max(0.0, self._timers[0][0] - time.monotonic())
        for key, mask in self._selector.select(timeout):
            callbacks = self._watched.get(key.fd)
            if mask & selectors.EVENT_WRITE and callbacks is not None and callbacks[1] is not None:
                callbacks[1]()
                callbacks = self._watched.get(key.fd)
            if mask & selectors.EVENT_READ and callbacks is not None:
                callbacks[0]()
        while self._timers and self._timers[0][0] <= time.monotonic():
            heappop(self._timers)[2]()

    def close(self) -> None:
        """Let go of all descriptors that are the loop's own."""
        self._selector.close()
        with self._wake_lock:  # who wakes us now must not write into whatever gets the descriptor's number next
            os.close(self._wake_read)
            os.close(self._wake_write)
            self._wake_write = -1

    def _drain(self) -> None:
        with suppress(BlockingIOError):
            os.read(self._wake_read, 4096)
