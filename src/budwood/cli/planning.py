"""A plan file as a command gets it: read, completed by the project's settings, checked, as a graph.

Knows plans, settings and this machine. Must not start anything.
"""

from dataclasses import dataclass
from pathlib import Path

import msgspec

from budwood._core.graph import Graph, build
from budwood._core.model import RunSettings
from budwood.cli.project import find_project, this_machine
from budwood.plans import Plan, read_plan, refuse_impossible, warnings, with_defaults
from budwood.settings import DEFAULT, run_settings


@dataclass(frozen=True, slots=True)
class CheckedPlan:
    """A plan that can be followed here, and what may not be meant in it."""

    plan: Plan
    graph: Graph
    settings: RunSettings
    warnings: list[str]


def check_plan(path: Path) -> CheckedPlan:
    """Read a plan and everything that bears on it; what cannot be followed raises PlanError."""
    plan = read_plan(path)
    resolved = find_project().resolve(flags={}, plan=plan)
    plan = with_defaults(plan, resolved)
    graph = build(plan.tasks, plan.lanes)
    settings = run_settings(resolved, this_machine())
    refuse_impossible(plan, settings)
    asked = settings
    if resolved.origin("slots") == DEFAULT:  # that a machine has more cores than a plan is wide is nobody's mistake
        asked = msgspec.structs.replace(settings, slots=1)
    return CheckedPlan(plan, graph, settings, warnings(plan, graph, asked))
