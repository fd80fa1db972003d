"""Plan files: read, checked, drawn.

Knows _core, settings and others' formats. Must not know stores, executors or the engine.
"""

from budwood.plans.check import warnings
from budwood.plans.draw import BatchRow, batch_rows, to_ascii, to_mermaid
from budwood.plans.keys import LANE_KEYS, TASK_KEYS, PlanKey
from budwood.plans.plan import (
    AGENT_RETRIES,
    AGENT_TIMEOUT_S,
    Plan,
    complete,
    has_prompts,
    refuse_impossible,
    task_defaults,
    with_defaults,
)
from budwood.plans.read import parse_plan, read_plan

__all__ = [
    "AGENT_RETRIES",
    "AGENT_TIMEOUT_S",
    "LANE_KEYS",
    "TASK_KEYS",
    "BatchRow",
    "Plan",
    "PlanKey",
    "batch_rows",
    "complete",
    "has_prompts",
    "parse_plan",
    "read_plan",
    "refuse_impossible",
    "task_defaults",
    "to_ascii",
    "to_mermaid",
    "warnings",
    "with_defaults",
]
