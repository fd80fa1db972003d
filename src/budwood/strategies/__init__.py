"""Who decides which tasks to add when results come in. Knows `_core` only; must not know stores or executors."""

from budwood.strategies.base import Strategy, Told
from budwood.strategies.plan import PlanStrategy

__all__ = ["PlanStrategy", "Strategy", "Told"]
