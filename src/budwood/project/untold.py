"""How many attempts of a run did not say what they cost, for those who only show its sum.

Knows stores and costs; must not know how a sum is shown.
"""

from collections import Counter

from budwood._core.model import TaskId
from budwood._core.rows import RunRow
from budwood.project.costs import untold
from budwood.stores import Store

LARGEST = 20_000
"""Attempts of a run that is still read: no agents made more in a night, and reading takes time."""


def untold_of(store: Store, run: RunRow) -> Counter[TaskId]:
    """Count them by task; nothing of a run that cost nothing, or is too large to be read for a mark."""
    return untold(store.read(run.id)) if run.cost_usd and run.attempts <= LARGEST else Counter()
