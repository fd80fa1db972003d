"""A plan file as a command gets it: read, completed by the project's settings, checked, as a graph.

Knows plans, settings and this machine. Must not start anything.
"""

from dataclasses import dataclass
from pathlib import Path

import msgspec

from budwood._core.graph import Graph, build
from budwood._core.model import RunSettings
from budwood.cli.garbage import building, keep
from budwood.plans import Plan, read_plan, refuse_impossible, warnings, with_defaults
from budwood.project.place import find_project, this_machine
from budwood.project.planned import leader_of, strategy_name, with_surroundings
from budwood.settings import DEFAULT, run_settings


@dataclass(frozen=True, slots=True)
class CheckedPlan:
    """A plan that can be followed here, and what may not be meant in it."""

    plan: Plan
    graph: Graph
    settings: RunSettings
    strategy: str
    warnings: list[str]


@building()
def check_plan(path: Path) -> CheckedPlan:
    """Read a plan and everything that bears on it; what cannot be followed is raised, as when it is run."""
    plan = read_plan(path)
    project = find_project(path.resolve().parent)
    resolved = project.resolve(flags={}, plan=plan)
    plan = with_defaults(plan, resolved)
    graph = build(plan.tasks, plan.lanes)
    settings = run_settings(resolved, this_machine())
    refuse_impossible(plan, settings)
    leads = leader_of(plan, project, resolved)
    settings = with_surroundings(settings, project, resolved, strategy=leads, tasks=plan.tasks)
    asked = settings
    if resolved.origin("slots") == DEFAULT:  # that a machine has more cores than a plan is wide is nobody's mistake
        asked = msgspec.structs.replace(settings, slots=1)
    return keep(CheckedPlan(plan, graph, settings, strategy_name(resolved), warnings(plan, graph, asked)))
