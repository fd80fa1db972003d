"""The score of a candidate: what measures it, what came of that, and what is known of the same content already.

A score is a function of the content, of how it is scored and of the run's seed, so that within a run it is taken once.
What was measured against a parent, and found wanting, says nothing about another's child: only valid scores are kept.
Knows the scoring program; must not know the state of the run.
"""

import hashlib
from pathlib import Path

import msgspec

from budwood._core.model import AttemptPhase, Outcome
from budwood._core.scores import Score
from budwood.durable import write_whole
from budwood.engine.workshop.later import added
from budwood.engine.workshop.orders import Order
from budwood.scoring.paper import Found

SCORE = "score"
_FOUND = msgspec.json.Decoder(Found)


class Scores:
    """The scores of one run, by content."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def known(self, order: Order, tree: str) -> Score | None:
        """Return the score that the same content has got."""
        try:
            return msgspec.json.decode(self._file(order, tree).read_bytes(), type=Score)
        except (OSError, msgspec.MsgspecError):  # none, or half of one
            return None

    def remember(self, order: Order, tree: str, score: Score) -> None:
        """Keep a score for the same content."""
        if score.valid:
            self._folder.mkdir(parents=True, exist_ok=True)
            write_whole(self._file(order, tree), msgspec.json.encode(score), draft=order.id)

    def _file(self, order: Order, tree: str) -> Path:
        stages = b"" if order.score is None else msgspec.json.encode(order.score, order="sorted")
        key = hashlib.sha256(b"\0".join((tree.encode(), stages, msgspec.json.encode(order.env_pass)))).hexdigest()
        return self._folder / f"{key[:32]}.json"


def with_score(order: Order, made: Outcome, measured: Outcome, transcript: Path) -> Outcome:
    """Say how an attempt ended whose candidate was measured."""
    outcome = added(made, measured)
    found = _read(transcript)
    if measured.phase is AttemptPhase.SUCCEEDED and found is not None and found.score is not None:
        return scored(order, outcome, found.score)
    if measured.phase is AttemptPhase.SUCCEEDED:
        return _failed(outcome, "the scoring program said nothing")
    if measured.phase is AttemptPhase.FAILED and found is not None and found.failed:
        return _failed(outcome, found.failed)
    if measured.phase is AttemptPhase.FAILED and measured.error_type in (None, "exit", "signal"):
        return _failed(outcome, f"the scoring program ended: {measured.message}")
    return msgspec.structs.replace(
        outcome,
        phase=measured.phase,
        error_type=measured.error_type,
        message=f"while it was scored: {measured.message}",
    )


def scored(order: Order, outcome: Outcome, score: Score) -> Outcome:
    """Give an attempt its score; in a plan, what is not valid is not done."""
    found = msgspec.structs.replace(outcome, score=score)
    if score.valid or not order.must_be_valid:
        return found
    return _failed(found, f"its score is not valid: {score.why}")


def _failed(outcome: Outcome, message: str) -> Outcome:
    return msgspec.structs.replace(outcome, phase=AttemptPhase.FAILED, error_type=SCORE, message=message)


def _read(transcript: Path) -> Found | None:
    try:
        return _FOUND.decode(transcript.read_bytes().strip().splitlines()[-1])
    except (OSError, IndexError, msgspec.MsgspecError):
        return None
