"""Times and spans as people say them, and as JSON carries them.

Knows numbers only. Must not read a clock: what is now is given.
"""

from datetime import UTC, datetime

_UNITS = ((86400, "d"), (3600, "h"), (60, "min"))


def iso(at_ms: int | None) -> str | None:
    """Write a time for JSON: UTC, milliseconds; None where there is none (a run that has no event yet has 0)."""
    if not at_ms:
        return None
    return datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def clock(at_ms: int) -> str:
    """Write the time of day, here."""
    return datetime.fromtimestamp(at_ms / 1000).strftime("%H:%M:%S")


def day(at_ms: int) -> str:
    """Write the date, here."""
    return datetime.fromtimestamp(at_ms / 1000).strftime("%A, %Y-%m-%d")


def ago(at_ms: int | None, now_ms: int) -> str:
    """Say how long ago something was; a clock that was set back gives "just now"."""
    if not at_ms:
        return "-"
    seconds = (now_ms - at_ms) / 1000
    return "just now" if seconds < 1 else f"{_coarse(seconds)} ago"


def span(seconds: float) -> str:
    """Say how long something takes, in at most two units."""
    if seconds < 0:
        return "0 s"
    if seconds < 9.95:
        return f"{seconds:.1f} s" if seconds >= 0.1 else f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.0f} s"
    for (size, unit), (smaller, lesser) in zip(_UNITS, (*_UNITS[1:], (1, "s")), strict=True):
        if seconds >= size:
            whole, rest = divmod(round(seconds / smaller), size // smaller)
            return f"{whole} {unit}" + (f" {rest} {lesser}" if rest else "")
    return f"{seconds:.0f} s"


def rough(seconds: float) -> str:
    """Say how long something may take, no finer than a guess can promise."""
    return f"{max(1, round(seconds))} s" if seconds < 59.5 else span(round(seconds / 10) * 10)


def _coarse(seconds: float) -> str:
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{seconds // size:.0f} {unit}"
    return f"{seconds:.0f} s"
