"""Amounts as people write them: money, sizes, counts, lists.

Knows numbers only.
"""

from collections.abc import Iterable


def money(usd: float, *, guessed: float = 0.0) -> str:
    """Write dollars, small amounts with as many digits as they need to be seen; "~" where a part is not known."""
    usd = round(usd, 6)  # sums of the same amounts differ by their order, and half a cent is rounded
    about = "~" if guessed else ""
    return f"{about}${usd:.2f}" if usd >= 0.01 or usd == 0 else f"{about}${usd:.4f}"


def size(count: int) -> str:
    """Write bytes."""
    amount = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if amount >= 10 or unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} TB"


def counted(count: int, noun: str) -> str:
    """Write a number with its noun."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def some(names: Iterable[object], most: int = 5) -> str:
    """List names, the first few of many."""
    known = [str(name) for name in names]
    shown = ", ".join(known[:most])
    return shown if len(known) <= most else f"{shown} and {len(known) - most} more"
