"""What the scoring program is given, and what it hands back: one JSON document each, on its stdin and stdout."""

from msgspec import Struct

from budwood._core.scores import Score, Scoring


class Wanted(Struct, frozen=True, kw_only=True):
    """What is to be scored, in the directory that the program starts in."""

    scoring: Scoring
    seed: int
    """Of the run: the seeds of repeats are derived from it, and so are the same for all candidates."""
    bar: Score | None = None
    """Of what it must not be worse than."""


class Found(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What came of it: a score, or why there is none."""

    score: Score | None = None
    failed: str = ""
