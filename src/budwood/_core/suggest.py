"""Guess which known name was meant.

Knows spelling only. Must not know what the names stand for.
"""

from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice

_LOOKED_AT = 5_000
"""Comparing is slow (10 µs a name), and a plan may have a million ids."""


def nearest(given: str, known: Iterable[str], *, cutoff: float = 0.6) -> str | None:
    """Return the known name that looks most like the given one, or None when none does."""
    close = (name for name in known if abs(len(name) - len(given)) <= 3)
    folded = {name.casefold().replace("-", "_"): name for name in islice(close, _LOOKED_AT)}
    found = get_close_matches(given.casefold().replace("-", "_"), folded, n=1, cutoff=cutoff)
    return folded[found[0]] if found else None


def did_you_mean(given: str, known: Iterable[str]) -> str | None:
    """Put the nearest name into a hint."""
    name = nearest(given, known)
    return None if name is None else f"did you mean {name!r}?"
