"""How much one client may ask for, so that one which floods harms nobody but itself."""

import time
from collections.abc import Callable

MESSAGE_BYTES = 1_000_000
"""A longer message is refused."""
CALLS_PER_S, CALLS_BURST = 20.0, 40.0
"""Calls of tools that one client may make."""
WRITES_PER_S, WRITES_BURST = 2.0, 30.0
"""Of those, the ones that leave something in the store."""


class Allowance:
    """Something that is used up and comes back with time."""

    def __init__(self, per_s: float, burst: float, *, now_s: Callable[[], float] = time.monotonic) -> None:
        self._per_s, self._burst, self._now_s = per_s, burst, now_s
        self._left, self._at_s = burst, now_s()

    def take(self) -> float:
        """Use one; return 0.0, or, if there is none, how long it takes until there is."""
        now_s = self._now_s()
        self._left = min(self._burst, self._left + (now_s - self._at_s) * self._per_s)
        self._at_s = now_s
        if self._left < 1:
            return (1 - self._left) / self._per_s
        self._left -= 1
        return 0.0
