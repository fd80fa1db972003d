"""How a drive begins: a new run's first events, or what is different when an old one goes on.

Pure functions of the state that was read and of what the user wants now.
"""

from collections.abc import Iterator, Mapping, Sequence

import msgspec
from msgspec.structs import asdict

from budwood._core.events import Event, PlanRevised, RunCreated, RunResumed, SettingsChanged
from budwood._core.model import PLAN, LaneSpec, RunPhase, RunSettings, TaskSpec
from budwood._core.state import RunState
from budwood.engine.driver import Opening
from budwood.engine.strategist import added
from budwood.errors import UsageError
from budwood.strategies import Strategy
from budwood.strategies.base import random_of


def begin_run(created: RunCreated, strategy: Strategy) -> Opening:
    """Open a new run. A plan is all there from the start; another strategy is asked when slots are free."""

    def opening(_: RunState) -> Iterator[Event]:
        yield created
        if created.strategy == PLAN:
            tasks = tuple(strategy.ask(0, random_of(created.settings.seed, 0)))
            yield from added(0, tasks, lanes=strategy.lanes)

    return opening


def go_on(
    *,
    settings: RunSettings | None = None,
    changes: Mapping[str, object] | None = None,
    plan: tuple[Sequence[TaskSpec], Sequence[LaneSpec]] | None = None,
    unpause: bool = True,
) -> Opening:
    """Open a run that has events: with these settings (or only these changes), this plan, and no longer paused."""

    def opening(state: RunState) -> Iterator[Event]:
        wanted = settings if settings is not None else state.settings
        if changes:
            wanted = msgspec.structs.replace(wanted, **changes)
        changed = changed_settings(state.settings, wanted)
        _refuse_changed(state, changed)
        verified_anew = is_verified_anew(state, wanted)
        if changed:
            yield SettingsChanged(settings=wanted, changed=changed)
        revised = revision(state, *plan) if plan is not None else None
        if revised is not None:
            yield revised
        if unpause and (state.phase is RunPhase.PAUSED or may_be_merged(state) or verified_anew):
            yield RunResumed()

    return opening


def may_be_merged(state: RunState) -> bool:
    """Say whether a run that is over has something that could not be merged, and maybe can be by now."""
    return state.phase is RunPhase.FINISHED and state.landing.waits_for_somebody


def is_verified_anew(state: RunState, wanted: RunSettings) -> bool:
    """Say whether a run that is over holds lanes back by a command that is another now."""
    held = state.phase is RunPhase.FINISHED and bool(state.landing.held)
    return held and state.settings.verify != wanted.verify


def _refuse_changed(state: RunState, changed: Sequence[str]) -> None:
    """Refuse to change what its decisions so far rest on."""
    kept = ("seed",) if state.strategy == PLAN else ("seed", "window", "order")
    for name in kept:
        if name in changed:
            raise UsageError(
                f"run {state.name} has {name} {getattr(state.settings, name)}; a run keeps its {name}",
                hint=f"budwood run FILE --again makes a new run with the new {name}",
            )


def _refuse_taken(state: RunState, added: Sequence[TaskSpec]) -> None:
    """Refuse ids that the merge queue gave away before the plan had them."""
    for spec in added:
        there = state.by_id.get(str(spec.id))
        if there is not None and there.spec.errand is not None:
            raise UsageError(
                f"run {state.name} has called a task of its merge queue {str(spec.id)!r}, and so has the plan by now",
                hint="give the plan's another id, or budwood run FILE --again makes a new run",
            )


def changed_settings(before: RunSettings, after: RunSettings) -> tuple[str, ...]:
    """Name the settings that differ."""
    new = asdict(after)
    return tuple(name for name, value in asdict(before).items() if value != new[name])


def _kept(state: RunState, wanted: Mapping[str, TaskSpec], lanes: Sequence[LaneSpec]) -> set[str]:
    """Name the tasks that were created while the run went on and stay: all but those that stand on what is gone."""
    there = {str(lane.id) for lane in lanes}
    kept: set[str] = set()
    for task in state.tasks:
        spec = task.spec
        if task.is_created and not task.removed and (spec.lane is None or str(spec.lane) in there):
            kept.add(str(spec.id))
    while lost := {name for name in kept for need in state.by_id[name].spec.after if str(need) not in {*wanted, *kept}}:
        kept -= lost
    return kept


def revision(state: RunState, tasks: Sequence[TaskSpec], lanes: Sequence[LaneSpec]) -> PlanRevised | None:
    """Say how a plan differs from the one that the run has; None if it does not."""
    now = {str(task.spec.id): task.spec for task in state.tasks if not task.removed and task.spec.errand is None}
    wanted = {str(spec.id): spec for spec in tasks}
    added = tuple(spec for name, spec in wanted.items() if name not in now)
    _refuse_taken(state, added)
    changed = tuple(spec for name, spec in wanted.items() if name in now and now[name] != spec)
    kept = _kept(state, wanted, lanes)
    removed = tuple(spec.id for name, spec in now.items() if name not in wanted and name not in kept)
    if not (added or changed or removed) and list(lanes) == state.lanes:
        return None
    return PlanRevised(added=added, changed=changed, removed=removed, lanes=tuple(lanes))
