"""Signals as items of a queue, so that nothing is decided inside a signal handler.

A signal that the process was started to ignore (nohup, a shell's background job) stays ignored. Knows signals only.
"""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

WATCHED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def signals_to(put: Callable[[signal.Signals], None]) -> Iterator[None]:
    """Hand SIGINT, SIGTERM and SIGHUP to a call-back, which must be safe in a signal handler; restore them after."""

    def caught(number: int, _: FrameType | None) -> None:
        put(signal.Signals(number))

    before = {number: signal.getsignal(number) for number in WATCHED}
    taken = [number for number, handler in before.items() if handler is not signal.SIG_IGN]
    for number in taken:
        signal.signal(number, caught)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, before[number])
