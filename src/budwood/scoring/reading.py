"""What a score command printed, as numbers by name: a bare number, JSON, or a `SCORE:` line.

Two answers are no answer: which of them was meant, nobody can tell. Must not know commands.
"""

import json
import re

from budwood._core.scores import PRIMARY

_LINE = re.compile(r"^\s*SCORE:(.*)$", re.MULTILINE)
_ALIAS = "performance"
"""Another name of the primary metric in JSON."""
_SHOWN = 200


class Unreadable(Exception):
    """What was printed is no score."""


def read_metrics(text: str) -> dict[str, float]:
    """Read what a command printed; nothing else may look like a score in it."""
    marked = [found.strip() for found in _LINE.findall(text)]
    if len(marked) > 1:
        raise Unreadable(f"it printed {len(marked)} SCORE: lines")
    if marked:
        return {PRIMARY: _number(marked[0])}
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        raise Unreadable("it printed nothing")
    table = _table(text) or _table(lines[-1])
    if table is not None:
        return metrics_of(table)
    numbers = [line for line in lines if _is_number(line)]
    if len(numbers) > 1:
        raise Unreadable(f"it printed {len(numbers)} numbers: {', '.join(numbers)[:_SHOWN]}")
    if numbers and numbers[0] == lines[-1]:
        return {PRIMARY: _number(numbers[0])}
    raise Unreadable(f"its last line is no number, no JSON with a score and no SCORE: line: {lines[-1][:_SHOWN]!r}")


def metrics_of(table: dict[str, object]) -> dict[str, float]:
    """Take the numbers of a table; what is no number says something else, and stays out."""
    found = {
        name: float(value)
        for name, value in table.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }
    if _ALIAS in found and PRIMARY in found:
        raise Unreadable(f"its JSON has both {PRIMARY} and {_ALIAS}")
    if _ALIAS in found:
        found[PRIMARY] = found.pop(_ALIAS)
    if not found:
        raise Unreadable("there is no number in its JSON")
    return found


def _table(text: str) -> dict[str, object] | None:
    try:
        found: object = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _number(text: str) -> float:
    if not _is_number(text):
        raise Unreadable(f"SCORE: is followed by no number: {text[:_SHOWN]!r}")
    return float(text)
