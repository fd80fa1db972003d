"""Who decides which tasks to add when results come in. Knows `_core` only; must not know stores or executors."""

from budwood.strategies.base import Strategy, Told
from budwood.strategies.plan import PlanStrategy

__all__ = ["BUILT_IN", "PlanStrategy", "Strategy", "Told"]

BUILT_IN: dict[str, str] = {
    "beam": "budwood.strategies.beam:BeamStrategy",
    "best-of": "budwood.strategies.best_of:BestOfStrategy",
    "evolve": "budwood.strategies.evolve:EvolveStrategy",
    "mcts": "budwood.strategies.mcts:MctsStrategy",
}
"""By the name that a run has it under, the class of a search that comes with budwood, as module:Class."""
