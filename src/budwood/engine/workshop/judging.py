"""How an attempt in a workspace ended, from evidence: exit codes first, then what changed, last what an agent says.

Knows outcomes; must not read files or ask git.
"""

from collections.abc import Sequence

import msgspec

from budwood._core.model import INSIDE, AttemptPhase, Left, Outcome, Usage
from budwood.engine.workshop.orders import Order
from budwood.workspaces.merging import named

_SAID_BYTES = 2000


def weigh(
    order: Order, outcome: Outcome, log: bytes | None, *, marked: Sequence[str] = (), review: bytes = b""
) -> Outcome:
    """Decide whether what an attempt left is accepted; the next one is told what a check or a reviewer said."""
    found = _step_faults(_unpaid(outcome))
    if found.phase is AttemptPhase.SUCCEEDED and not order.allow_unchanged and found.left and not found.left.files:
        found = _failed(found, "unchanged", _nothing(found.left))
    if found.phase is AttemptPhase.SUCCEEDED and marked:
        found = _failed(found, "marks", f"marks of a conflict are left in {', '.join(marked)}")
    if found.phase is AttemptPhase.SUCCEEDED:
        return msgspec.structs.replace(found, until_ms=None)
    said = {"check": log, "review": review}.get(found.error_type or "")
    if not said:
        return found
    return msgspec.structs.replace(found, check_said=said[-_SAID_BYTES:].decode(errors="replace").strip())


def _nothing(left: Left) -> str:
    if not left.inside:
        return "it changed nothing"
    return f"it changed nothing but files {INSIDE}: {named(left.inside)}"


def _unpaid(outcome: Outcome) -> Outcome:
    """Let an attempt that ended in its setup cost nothing, rather than what it reserved: nobody was asked."""
    ended = outcome.phase in (AttemptPhase.FAILED, AttemptPhase.TIMED_OUT)
    if not (ended and outcome.steps and outcome.steps[-1].name == "setup"):
        return outcome
    told = outcome.usage
    usage = Usage(cost_usd=told.cost_usd or 0.0, tokens=told.tokens or 0, problem=told.problem)
    return msgspec.structs.replace(outcome, usage=usage)


def _step_faults(outcome: Outcome) -> Outcome:
    """Say which step it was that failed."""
    if outcome.phase is not AttemptPhase.FAILED or not outcome.steps:
        return outcome
    last = outcome.steps[-1].name
    if last == "setup":
        return _failed(outcome, "setup", f"setup failed: {outcome.message}")
    if last == "check":
        return _failed(outcome, "check", f"check failed: {outcome.message}")
    if last == "review":
        return _failed(outcome, "review", f"its reviewer sent it back: {outcome.message}")
    return outcome


def _failed(outcome: Outcome, kind: str, message: str) -> Outcome:
    return msgspec.structs.replace(outcome, phase=AttemptPhase.FAILED, error_type=kind, message=message)
