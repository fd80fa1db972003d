"""The options of a search, as somebody may have written them: refused by name where they cannot be meant.

Knows what values look like; must not know which strategy has which.
"""

import math
from collections.abc import Sequence

import msgspec

from budwood._core.scores import Scoring
from budwood.errors import UsageError

MAX_DEPTH = 3
"""How deep a beam goes where nobody says."""
MCTS_ATTEMPTS = 50
"""How many attempts mcts makes where nobody says."""


def whole(name: str, given: object, *, least: int = 1) -> int:
    """Take a whole number."""
    if isinstance(given, bool) or not isinstance(given, int) or given < least:
        raise UsageError(f"{name} is {given!r}; it takes a whole number from {least} on")
    return given


def whole_or_none(name: str, given: object) -> int | None:
    """Take a whole number from 1 on, where there need not be one."""
    return None if given is None else whole(name, given)


def amount(name: str, given: object, *, most: float = math.inf) -> float:
    """Take a number from 0 on."""
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 <= given <= most or math.isinf(given):
        raise UsageError(f"{name} is {given!r}; it takes a number from 0 {f'to {most:g}' if most < math.inf else 'on'}")
    return given


def text(name: str, given: object) -> str:
    """Take text that says something."""
    if not isinstance(given, str) or not given.strip():
        raise UsageError(f"{name} is {given!r}; it takes text")
    return given


def dealt(name: str, given: object, n: int) -> list[str]:
    """Take texts that are dealt round to `n` attempts."""
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise UsageError(f"{name} is {given!r}; it takes a list of texts")
    texts = [text(f"one of {name}", each) for each in given]
    if len(texts) > n:
        raise UsageError(f"{len(texts)} {name} and {n} attempts: some would never be used", hint=f"n = {len(texts)}")
    return texts


def scoring_of(given: object) -> Scoring:
    """Take how candidates are scored as it is, or as JSON has it."""
    if isinstance(given, Scoring):
        return given
    try:
        return msgspec.convert(given, Scoring)
    except msgspec.ValidationError as error:
        raise UsageError(f"scoring cannot be understood: {error}") from None
