"""The mean of repeated measurements, and how sure it is.

Student's t at 95 %, from a table: with few repeats a normal distribution would promise too much.
"""

import math
from collections.abc import Sequence

_T = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
    *(2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)
_NORMAL = 1.96


def interval(samples: Sequence[float]) -> tuple[float, float] | None:
    """Return where the mean lies with 95 % confidence; None of a single measurement."""
    count = len(samples)
    if count < 2:
        return None
    mean = math.fsum(samples) / count
    spread = math.sqrt(math.fsum((value - mean) ** 2 for value in samples) / (count - 1) / count)
    half = (_T[count - 2] if count - 2 < len(_T) else _NORMAL) * spread
    return mean - half, mean + half
