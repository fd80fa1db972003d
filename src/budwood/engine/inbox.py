"""Calls from other threads, made by the driver's loop.

Knows the part of the loop that executors need; must not know what is called.
"""

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue

from budwood.executors.base import Loop


class Inbox:
    """Where threads leave what the loop is to do."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._calls: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._lock = threading.Lock()
        self._read_end, self._write_end = os.pipe()
        os.set_blocking(self._read_end, False)
        os.set_blocking(self._write_end, False)
        loop.watch(self._read_end, self._take)

    def put(self, call: Callable[[], None]) -> None:
        """Have something called by the loop; from any thread. Nothing happens once this is closed."""
        self._calls.put(call)
        with self._lock:
            if self._write_end >= 0:
                with suppress(BlockingIOError):  # the pipe is full of wake-ups already
                    os.write(self._write_end, b"!")

    def close(self) -> None:
        """Take no more."""
        self._loop.forget(self._read_end)
        with self._lock:
            os.close(self._read_end)
            os.close(self._write_end)
            self._write_end = -1

    def _take(self) -> None:
        with suppress(BlockingIOError):
            os.read(self._read_end, 4096)
        with suppress(Empty):
            while True:
                self._calls.get_nowait()()
