"""A plan file on its way to becoming a run: read, given its settings, and refused at once if it cannot run.

Knows plans, settings and the project. Must not write anything.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from budwood import __version__
from budwood._core.events import Event, RunCreated
from budwood._core.graph import Graph, build
from budwood._core.ids import run_id, safe_name
from budwood._core.model import ENDED_RUN, PLAN, RunSettings, TaskSpec
from budwood._core.replay import fold
from budwood._core.state import RunState
from budwood.engine.driver import Opening
from budwood.engine.opening import begin_run, go_on, is_verified_anew, revision
from budwood.errors import SettingsError, UsageError
from budwood.plans import Plan, has_prompts, read_plan, refuse_impossible, warnings, with_defaults
from budwood.project.expecting import (
    Estimate,
    Expectations,
    estimate,
    estimate_unknown,
    with_expectations,
)
from budwood.project.find import find_run
from budwood.project.ideas import untried
from budwood.project.place import Project, find_project, this_machine, this_machine_now
from budwood.project.searching import (
    named_agents,
    refuse_another_search,
    refuse_no_barrier,
    refuse_nobody,
    search_defaults,
    search_options,
    strategy_name,
    with_search_slots,
)
from budwood.project.strategy import make_strategy
from budwood.settings import DEFAULT, Resolved, run_settings
from budwood.stores import Store
from budwood.strategies import BUILT_IN, PlanStrategy, Strategy


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan that can run."""

    project: Project
    resolved: Resolved
    plan: Plan
    graph: Graph
    settings: RunSettings
    source: str
    strategy: Strategy
    options: Mapping[str, object]
    """What the strategy was made with."""

    @property
    def name(self) -> str:
        """What the run wants to be called."""
        return safe_name(self.resolved.text("name") or Path(self.source).stem)

    @property
    def strategy_name(self) -> str:
        """Who decides which tasks to add."""
        return strategy_name(self.resolved)

    def warnings(self) -> list[str]:
        """List what is allowed and probably not meant."""
        found = warnings(
            self.plan,
            self.graph,
            self.settings,
            machine=this_machine_now() if self.settings.agents else None,
            slots_given=self.resolved.origin("slots") != DEFAULT,
        )
        if self.strategy_name == "beam":
            found += (f"{path} is not tried: {why}" for path, why in untried(self.options).items())
        if self.settings.mcp:
            from budwood.project.manning import without_tools  # without agents a run starts sooner

            found += without_tools(self.settings)
        return found

    def expecting(self, found: Expectations) -> "Planned":
        """Let attempts reserve what earlier ones have cost."""
        return replace(self, settings=with_expectations(self.settings, found))

    def estimate(self, found: Expectations, *, left: Sequence[TaskSpec] | None = None) -> Estimate:
        """Say what its tasks will probably cost, or those that are left of a run that has begun."""
        if self.strategy_name != PLAN:
            return estimate_unknown(self.settings)
        return estimate(self.settings, self.plan.tasks if left is None else left, found)

    def equipped(self, *, include_dirty: bool = False) -> "Planned":
        """Settle where a new run's attempts would work; refused if its agents are not here."""
        wanted = self.resolved.text("workspace")
        scored = _is_scored(self.resolved, self.plan)
        if scored and wanted == "none":
            raise SettingsError(
                "what is scored is made in workspaces, and workspace is none", hint='workspace = "auto" gives it some'
            )
        if not self.settings.agents and not scored and wanted in ("auto", "none"):
            _refuse_merging(self.settings, 'this plan has no workspaces; workspace = "clone" gives it some')
            if include_dirty:
                raise UsageError(
                    "--include-dirty is about workspaces, and this plan has none", hint="its commands run where you are"
                )
            self._refuse_sandbox()
            return self
        from budwood.project.workspaces import workspace_kind, workspace_terms

        kind = workspace_kind(self.project, self.resolved)
        if kind == "copy":
            _refuse_merging(self.settings, "copies have no branches; git init makes this a repository")
        self.refuse_missing()
        word = "epic" if self.plan.format == "yokeflow" else "lane"
        terms = workspace_terms(self.project, self.resolved, kind, word=word, include_dirty=include_dirty)
        equipped = replace(self, settings=msgspec.structs.replace(self.settings, workspace=terms))
        equipped._refuse_sandbox()
        return equipped

    def refuse_missing(self) -> None:
        """Refuse agents whose programs are not on this machine. Writes nothing."""
        if self.settings.agents:
            from budwood.project.manning import refuse_missing  # without agents a run starts sooner

            others = () if self.strategy_name == PLAN else tuple(self.settings.agents)
            refuse_missing(self.settings, self.plan.tasks, self.project, others=others)

    def _refuse_sandbox(self) -> None:
        if self.settings.sandbox != "none" or self.settings.network != "all":
            from budwood.project.sandbox import refuse_sandbox  # without one a run starts sooner

            refuse_sandbox(self.settings, self.project, self.plan.tasks)

    def opening(self, *, run: str, name: str) -> Opening:
        """Begin the run, or, if it has begun before, go on with this plan and these settings."""
        created = RunCreated(
            run=run,
            name=name,
            settings=self.settings,
            source=self.source,
            cwd=str(self.project.root),
            made_by=__version__,
            strategy=self.strategy_name,
            options=dict(self.options),
            task_defaults=search_defaults(self.strategy_name, self.resolved),
        )
        begin = begin_run(created, self.strategy)
        is_plan = self.strategy_name == PLAN

        def opening(state: RunState) -> Iterator[Event]:
            if state.number:
                refuse_another_search(state, created)
            # A driver that was killed right after its claim has left a run without events.
            if state.number == 0:
                yield from begin(state)
            else:
                plan = (self.plan.tasks, self.plan.lanes) if is_plan else None
                yield from go_on(settings=self.settings_of(state), plan=plan)(state)

        return opening

    def settings_of(self, begun: RunState) -> RunSettings:
        """Return the settings to go on with: workspaces, what agents are expected to cost, and a window that
        nobody set stay as the run began.
        """
        agents = {
            name: msgspec.structs.replace(terms, expected_usd=begun.settings.agents[name].expected_usd)
            for name, terms in self.settings.agents.items()
            if name in begun.settings.agents
        }
        kept = msgspec.structs.replace(
            self.settings, workspace=begun.settings.workspace, agents=self.settings.agents | agents
        )
        if self.resolved.value("window") is not None:
            return kept
        return msgspec.structs.replace(kept, window=begun.settings.window)

    def end_of(self, store: Store, run: str, opening: Opening) -> RunState | None:
        """Return what its run came to, if that is over and the plan as it was; None if there is something to drive.

        Refused where it is over, and what a run keeps is another now: nobody shall take its end for an answer to that.
        """
        row = find_run(store, run)
        if row.phase not in ENDED_RUN or store.holder(run) is not None:
            return None
        state = fold(store.read(run))
        edited = self.strategy_name == PLAN and revision(state, self.plan.tasks, self.plan.lanes) is not None
        if edited or is_verified_anew(state, self.settings):
            return None
        for _ in opening(state):  # nothing is to be driven, but what a run keeps it keeps at its end, too
            pass
        return state


def read_planned(
    file: str, flags: Mapping[str, object], *, project: Project | None = None, manned: bool = True
) -> Planned:
    """Read a plan file and refuse what cannot run: cycles, unknown ids, tasks that could never start.

    It belongs to the project that it lies in, unless another is named. Tasks that nobody would do are refused, unless
    it is only looked at: who does them may be said when it runs.
    """
    path = Path(file)
    plan = read_plan(path)
    source = path.resolve()
    return make_planned(plan, project or find_project(source.parent), flags=flags, source=str(source), manned=manned)


def make_planned(
    plan: Plan,
    project: Project,
    *,
    flags: Mapping[str, object],
    source: str,
    strategy: Strategy | None = None,
    manned: bool = True,
) -> Planned:
    """Give a plan its settings and refuse what cannot run; `strategy` is the object that the settings only name."""
    resolved = project.resolve(flags=flags, plan=plan)
    plan = with_defaults(plan, resolved)
    settings = run_settings(resolved, this_machine())
    options = search_options(project, resolved, source=source)
    asked = named_agents(resolved, options)
    merges = _is_scored(resolved, plan) or resolved.text("workspace") not in ("auto", "none")
    if has_prompts(plan.tasks) or resolved.value("agent") or asked or (merges and settings.resolve):
        from budwood.project.manning import man  # without agents a run starts sooner

        plan, settings = man(plan, settings, project, resolved, others=asked, refuse=manned)
    if manned:
        refuse_nobody(settings, resolved)
    settings = with_search_slots(settings, resolved)
    graph = build(plan.tasks, plan.lanes)
    refuse_impossible(plan, settings)
    leads = leader_of(plan, project, resolved, options) if strategy is None else strategy
    refuse_no_barrier(leads, settings)
    settings = with_surroundings(settings, project, resolved, strategy=leads, tasks=plan.tasks)
    return Planned(project, resolved, plan, graph, settings, source, leads, options)


def _is_scored(resolved: Resolved, plan: Plan) -> bool:
    """Say whether attempts are scored, and so have workspaces whatever they are."""
    return strategy_name(resolved) in BUILT_IN or any(task.score is not None for task in plan.tasks)


def _refuse_merging(settings: RunSettings, why: str) -> None:
    """Refuse what is about merged lanes where nothing can be merged."""
    if settings.review == "auto":
        name = "review" if settings.verify is None else "verify"
        raise SettingsError(f"{name} is about merged lanes, and {why.partition(';')[0]}", hint=why.partition("; ")[2])


def with_surroundings(
    settings: RunSettings, project: Project, resolved: Resolved, *, strategy: Strategy, tasks: Sequence[TaskSpec]
) -> RunSettings:
    """Fill in what a run with functions or a strategy of its own takes from its surroundings, and keeps."""
    if isinstance(strategy, PlanStrategy):
        window, calls = None, any(task.function is not None for task in tasks)
    else:
        window, calls = settings.window or strategy.window, True
    return msgspec.structs.replace(
        settings,
        window=window,
        python=project.python(resolved) if calls else "",
        groups={**strategy.groups, **settings.groups},
    )


def leader_of(plan: Plan, project: Project, resolved: Resolved, options: Mapping[str, object]) -> Strategy:
    """Make the strategy that the settings name; what is wrong with it is raised."""
    name = strategy_name(resolved)
    if name == PLAN:
        return PlanStrategy(plan.tasks, plan.lanes)
    return make_strategy(name, options, root=project.root)


def fresh_run_id() -> str:
    """Make an id that no other run has."""
    return run_id(int.from_bytes(os.urandom(7)) >> 6)
