"""What a run may use, has used and has set aside.

Knows the state. Must not read a clock or a store.
"""

from msgspec import Struct

from budwood._core.state import RunState


class Budget(Struct, frozen=True, kw_only=True):
    """What may be used, was used, and is set aside for what runs; no limit, nothing left to tell."""

    limit: float | None
    spent: float
    reserved: float
    left: float | None


def budgets(state: RunState, now_ms: int) -> dict[str, Budget]:
    """Tell of every budget how much of it is left."""
    limits, spent = state.settings, state.spending
    return {
        "usd": _budget(limits.budget_usd, round(spent.cost_usd, 6), round(spent.reserved_usd, 6)),
        "tokens": _budget(limits.budget_tokens, spent.tokens, spent.reserved_tokens),
        "attempts": _budget(limits.max_attempts, spent.attempts, 0),
        "time_s": _budget(limits.budget_time_s, round(state.driven_until(now_ms), 1), 0),
    }


def _budget(limit: float | None, spent: float, reserved: float) -> Budget:
    left = None if limit is None else max(0, round(limit - spent - reserved, 6))
    return Budget(limit=limit, spent=spent, reserved=reserved, left=left)
