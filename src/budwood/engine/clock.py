"""The time that events carry.

Wall time is read once; from then on the monotonic clock counts, so that a clock that is set, or jumps, while a run
goes on changes no duration and no order.
"""

import time


class Clock:
    """Milliseconds since the epoch that never run backwards while this object lives."""

    def __init__(self) -> None:
        self._wall_ms = time.time_ns() // 1_000_000
        self._begin_ns = time.monotonic_ns()

    def now_ms(self) -> int:
        """Return the time of now."""
        return self._wall_ms + (time.monotonic_ns() - self._begin_ns) // 1_000_000
