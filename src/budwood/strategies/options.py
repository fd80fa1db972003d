"""The options of a search, as somebody may have written them: refused by name where they cannot be meant.

Knows what values look like; must not know which strategy has which.
"""

import math
from collections.abc import Mapping, Sequence

import msgspec

from budwood._core.scores import Scoring
from budwood.errors import UsageError
from budwood.strategies.population import Feature

MAX_DEPTH = 3
"""How deep a beam goes where nobody says."""
MCTS_ATTEMPTS = 50
"""How many attempts mcts makes where nobody says."""
EVOLVE_ATTEMPTS = 60
"""How many attempts evolve makes where nobody says."""


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
        attempts = "1 attempt" if n == 1 else f"{n} attempts"
        raise UsageError(f"{len(texts)} {name} and {attempts}: some would never be used", hint=f"n = {len(texts)}")
    return texts


def scoring_of(given: object) -> Scoring:
    """Take how candidates are scored as it is, or as JSON has it."""
    if isinstance(given, Scoring):
        return given
    try:
        return msgspec.convert(given, Scoring)
    except msgspec.ValidationError as error:
        raise UsageError(f"scoring cannot be understood: {error}") from None


def features_of(given: object) -> tuple[Feature, ...]:
    """Take the metrics that candidates are told apart by, each with its range and number of parts."""
    if given is None:
        return ()
    if not isinstance(given, Mapping) or not given:
        raise UsageError(f"features is {given!r}; it takes a table of metrics", hint=_FEATURES)
    return tuple(_feature(name, each) for name, each in given.items())


_FEATURES = "features = { lines = { low = 0, high = 200, bins = 10 } }"


def _feature(name: str, given: object) -> Feature:
    if not isinstance(given, Mapping) or set(given) != {"low", "high", "bins"}:
        raise UsageError(f"features.{name} is {given!r}; it takes low, high and bins", hint=_FEATURES)
    low, high = (_number(f"features.{name}.{end}", given[end]) for end in ("low", "high"))
    if low >= high:
        raise UsageError(f"features.{name} goes from {low:g} to {high:g}: low must be less than high")
    return Feature(name, low, high, whole(f"features.{name}.bins", given["bins"]))


def _number(name: str, given: object) -> float:
    if isinstance(given, bool) or not isinstance(given, int | float) or not math.isfinite(given):
        raise UsageError(f"{name} is {given!r}; it takes a number")
    return given
