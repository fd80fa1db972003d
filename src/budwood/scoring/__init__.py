"""How a candidate is scored: commands, stage by stage, and what they say. Knows `_core` only.

`python -m budwood.scoring` is a step of an attempt like any other: its supervisor holds it, and it outlives a driver.
"""

from budwood.scoring.reading import Unreadable, read_metrics
from budwood.scoring.rows import read_rows
from budwood.scoring.staged import Failed, Measure, score

__all__ = ["Failed", "Measure", "Unreadable", "read_metrics", "read_rows", "score"]
