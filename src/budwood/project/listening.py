"""Waits of the main thread, cut into slices, so that a signal is heard wherever it falls.

Python calls its handlers in the main thread, between two instructions: a signal that comes right before a wait begins,
or to another thread, does not end that wait. Knows time only.
"""

import math
import time
from collections.abc import Callable

LISTEN_S = 0.5
"""So long at most a signal waits to be heard."""


def wait_listening(wait: Callable[[float], bool], timeout_s: float | None = None) -> bool:
    """Wait for at most so long in all; say whether it has happened. `wait` is given the length of a slice."""
    until_s = math.inf if timeout_s is None else time.monotonic() + timeout_s
    while True:
        left_s = until_s - time.monotonic()
        if wait(max(0.0, min(left_s, LISTEN_S))):
            return True
        if left_s <= LISTEN_S:
            return False
