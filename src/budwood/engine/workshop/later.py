"""What is done about what an attempt made once that is kept: it is scored, and an agent reviews it.

Each is a work of its own in the attempt's workspace, so that neither can change what was kept. What costs money comes
last: nobody reviews what is not valid. Knows orders and outcomes; must not know how either is done.
"""

from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

from msgspec.structs import replace

from budwood._core.ids import attempt_id
from budwood._core.model import AttemptPhase, Outcome
from budwood.engine.workshop.orders import Order
from budwood.executors.base import Work

Kind = Literal["score", "review"]
MOST_TRIES = 3
"""What was lost with its supervisor is done again, so often at most: the candidate is there."""
TRIES = range(1, MOST_TRIES + 1)


class Later(NamedTuple):
    """An attempt whose steps have ended, and what is being done about what it made."""

    order: Order
    made: Outcome
    log: bytes | None
    kind: Kind
    number: int
    """Which try it is."""

    @property
    def id(self) -> str:
        """Name the work."""
        return later_id(self.order.id, self.kind, self.number)

    def is_lost(self, outcome: Outcome) -> bool:
        """Say whether it was lost on the way, and is to be done again."""
        return outcome.phase is AttemptPhase.ABANDONED and self.number < MOST_TRIES


def later_id(work_id: str, kind: Kind, number: int) -> str:
    """Name the work that is done about what an attempt made, for the first time or again."""
    return f"{work_id}.{kind}{number}"


def is_later(work_id: str) -> bool:
    """Say whether a work is about what an attempt made: its name is that of the attempt, and more."""
    return work_id.count(".") > attempt_id(0, 0).count(".")


def due(order: Order, made: Outcome) -> Kind | None:
    """Say what is still to be done about what an attempt made; None if it has ended."""
    if made.phase is not AttemptPhase.SUCCEEDED or made.left is None:
        return None
    if order.score is not None and made.score is None:
        return "score"
    is_valid = made.score is None or made.score.valid
    return "review" if order.asks_review and is_valid and made.reviewed is None else None


def every_later(orders: Iterable[Order]) -> Iterator[Work]:
    """Name every work that may be about what an order made."""
    for order in orders:
        for kind in kinds_of(order):
            for number in TRIES:
                yield Work(id=later_id(order.id, kind, number), slot=order.slot, grace_s=order.grace_s)


def kinds_of(order: Order) -> Iterator[Kind]:
    """Say what may be done about what an order makes."""
    if order.score is not None:
        yield "score"
    if order.asks_review:
        yield "review"


def added(made: Outcome, later: Outcome) -> Outcome:
    """Add what it took to what the attempt has taken before."""
    before, more = made.measure, later.measure
    return replace(
        made,
        steps=(*made.steps, *later.steps),
        measure=replace(
            before,
            wall_s=before.wall_s + more.wall_s,
            cpu_s=before.cpu_s + more.cpu_s,
            peak_memory_bytes=max(before.peak_memory_bytes, more.peak_memory_bytes),
            output_bytes=before.output_bytes + more.output_bytes,
            dropped_bytes=before.dropped_bytes + more.dropped_bytes,
        ),
    )


def joined(log: bytes | None, more: bytes | None) -> bytes | None:
    """Put what it printed behind the rest; of what is too large for the store, each lies in its directory."""
    return log if log is None or not more else log + more
