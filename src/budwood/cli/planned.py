"""A plan file on its way to becoming a run: read, given its settings, and refused at once if it cannot run.

Knows plans, settings and the project. Must not write anything.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from budwood import __version__
from budwood._core.events import Event, RunCreated
from budwood._core.graph import Graph, build
from budwood._core.ids import run_id, safe_name
from budwood._core.model import RunSettings
from budwood._core.state import RunState
from budwood.cli.project import Project, find_project, this_machine
from budwood.engine import Opening
from budwood.engine.opening import begin_run, go_on
from budwood.errors import PlanError
from budwood.plans import Plan, read_plan, refuse_impossible, warnings, with_defaults
from budwood.settings import DEFAULT, Resolved, run_settings


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan that can run."""

    project: Project
    resolved: Resolved
    plan: Plan
    graph: Graph
    settings: RunSettings
    source: str

    @property
    def name(self) -> str:
        """What the run wants to be called."""
        return safe_name(self.resolved.text("name") or Path(self.source).stem)

    def remarks(self) -> int:
        """Count what `plan check` would remark; more cores than work is no remark if nobody set slots."""
        settings = self.settings
        if self.resolved.origin("slots") == DEFAULT:
            settings = msgspec.structs.replace(settings, slots=1)
        return len(warnings(self.plan, self.graph, settings))

    def opening(self, *, run: str, name: str) -> Opening:
        """Begin the run, or, if it has begun before, go on with this plan and these settings."""
        created = RunCreated(
            run=run,
            name=name,
            settings=self.settings,
            source=self.source,
            cwd=str(self.project.root),
            made_by=__version__,
        )
        begin = begin_run(created, self.plan.tasks, self.plan.lanes)
        further = go_on(settings=self.settings, plan=(self.plan.tasks, self.plan.lanes))

        def opening(state: RunState) -> Iterator[Event]:
            # A driver that was killed right after its claim has left a run without events.
            yield from begin(state) if state.number == 0 else further(state)

        return opening


def read_planned(file: str, flags: Mapping[str, object]) -> Planned:
    """Read a plan file and refuse what cannot run: cycles, unknown ids, tasks that could never start."""
    path = Path(file)
    plan = read_plan(path)
    source = path.resolve()
    project = find_project(source.parent)
    resolved = project.resolve(flags=flags, plan=plan)
    plan = with_defaults(plan, resolved)
    settings = run_settings(resolved, this_machine())
    graph = build(plan.tasks, plan.lanes)
    refuse_impossible(plan, settings)
    _refuse_without_command(plan)
    return Planned(project, resolved, plan, graph, settings, str(source))


def fresh_run_id() -> str:
    """Make an id that no other run has."""
    return run_id(int.from_bytes(os.urandom(7)) >> 6)


def _refuse_without_command(plan: Plan) -> None:
    for task in plan.tasks:
        if task.run is None:
            what = "a prompt but no command" if task.prompt else "no command"
            raise PlanError(
                f"task {str(task.id)!r} of {plan.path} has {what}: this version runs commands only",
                hint=f'give it one: run = "…"; budwood plan show {plan.path} draws the plan as it is',
            )
