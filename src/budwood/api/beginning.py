"""Begins to drive a run from Python, or opens one to look at.

Whatever can be wrong at the beginning is raised by the call itself: plan, settings, a lease that another holds. From
then on the driver has a thread of its own. Knows the project, as the command line does.
"""

import asyncio
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Unpack

from budwood._core.events import Event as Fact
from budwood._core.ids import LAST
from budwood._core.model import LaneSpec, RunPhase, RunSettings, TaskSpec
from budwood._core.replay import fold
from budwood._core.rows import RunRow
from budwood._core.state import RunState
from budwood.api import given, process
from budwood.api.driving import Driving
from budwood.api.given import Place
from budwood.api.graph import lanes_of
from budwood.api.hearing import Hearing, OnEvent
from budwood.api.inside import Inside
from budwood.api.keys import RunKeys
from budwood.api.look import Look
from budwood.api.run import Run
from budwood.engine.driver import Opening
from budwood.engine.opening import may_be_merged
from budwood.errors import LeaseHeld, PlanError, UsageError
from budwood.executors.local import find_binary
from budwood.plans import Plan, task_defaults
from budwood.project.asking import Asked, ask, refuse_moved, refuse_unbegun
from budwood.project.executing import make_executor
from budwood.project.find import find_run, listed, newest_of
from budwood.project.place import Project, project_of, this_machine
from budwood.project.planned import Planned, fresh_run_id, make_planned, read_planned
from budwood.project.resuming import go_on_with
from budwood.project.strategy import Completing, created_of, strategy_of
from budwood.project.telling import Telling
from budwood.settings import DEFAULT, Resolved, run_settings
from budwood.stores import Store
from budwood.strategies import Strategy

_LEAVE_WITHIN_S = 10.0
_IMPORTING = "<frozen importlib._bootstrap>"


def start(
    what: Place | Iterable[TaskSpec] | None = None,
    *,
    name: str | None = None,
    strategy: Strategy | str | None = None,
    lanes: Sequence[LaneSpec] = (),
    store: Place | None = None,
    directory: Place | None = None,
    on_event: OnEvent | None = None,
    again: bool = False,
    **settings: Unpack[RunKeys],
) -> Run:
    """Start a plan file, tasks or a strategy, or go on with it, and return when it is under way.

    A plan file is the same run here and on the command line. Tasks and strategies that were given a name go on under
    it; without one each start makes a new run. What is over is not run again, unless `again`.
    """
    _refuse_importing()
    given.refuse_unfit(strategy=strategy, on_event=on_event)
    flags = given.flags_of(settings, of="budwood.start()")
    flags |= {"name": given.flag_of("name", name), "store": _text(store)}
    if isinstance(what, str | os.PathLike):
        _refuse_beside_file(strategy, lanes)
        project = None if directory is None else given.project_at(directory)
        planned = read_planned(str(Path(directory or "") / what), flags, project=project)
    else:
        planned = _planned(what, given.project_at(directory), strategy=strategy, lanes=lanes, flags=flags)
    is_given = planned.resolved.origin("python") != DEFAULT
    planned = replace(planned, settings=given.with_python(planned.settings, is_given=is_given))
    find_binary()  # without a supervisor nothing can run, and nothing shall be claimed
    planned = planned.equipped()
    opened = planned.project.open_store(planned.resolved, create=True)
    try:
        claim = opened.claim(fresh_run_id(), name=planned.name, source=planned.source, fresh=again)
        _make_way(claim.run)
        run, inside = _opened(opened, run=claim.run, name=claim.name, on_event=on_event)
        opening = _hinting(planned.opening(run=claim.run, name=claim.name))
        if not claim.created and planned.end_of(opened, claim.run, opening) is not None:
            opened.close()
            return run
    except BaseException:
        opened.close()
        raise
    _drive(
        run,
        inside,
        opened,
        project=planned.project,
        settings=planned.settings,
        opening=opening,
        strategy=planned.strategy,
    )
    if isinstance(strategy, Strategy):
        given.note_led(strategy)
    return run


def resume(
    name: str = LAST,
    *,
    strategy: Strategy | None = None,
    store: Place | None = None,
    directory: Place | None = None,
    on_event: OnEvent | None = None,
    **settings: Unpack[RunKeys],
) -> Run:
    """Go on with a run where it was: paused, interrupted or killed; settings that are given replace the run's own.

    A strategy that was given as an object is made again from its class, or handed in again as a new object.
    """
    _refuse_importing()
    given.refuse_unfit(strategy=strategy, on_event=on_event)
    here = given.project_at(directory)
    changes = given.changes_of(settings, here)
    resolved = here.resolve(flags={"store": _text(store)})
    opened = here.open_store(resolved, create=False)
    try:
        row = _meant(opened, name, here)
        refuse_moved(opened, row)
        _make_way(row.id)
        refuse_unbegun(Asked(opened, row, resolved))
        run, inside = _opened(opened, run=row.id, name=row.name, on_event=on_event)
        if _needs_no_driver(opened, row, resolved, is_changed=bool(changes)):
            opened.close()
            return run
        leads, opening = _go_on(opened, row, strategy, changes=changes)
    except BaseException:
        opened.close()
        raise
    _drive(
        run,
        inside,
        opened,
        project=project_of(row),
        settings=run_settings(resolved, this_machine()),
        opening=opening,
        strategy=leads,
    )
    if strategy is not None:
        given.note_led(strategy)
    return run


def go_on_again(run: Run, inside: Inside) -> None:
    """Drive a run on that nobody drives, for the object that it has here."""
    _make_way(run.id)
    opened = inside.look.open()
    try:
        row = inside.look.row(opened)
        project = project_of(row)
        leads, opening = _go_on(opened, row, None, changes={})
        settings = run_settings(project.resolve(flags={}), this_machine())
    except BaseException:
        opened.close()
        raise
    _drive(run, inside, opened, project=project, settings=settings, opening=opening, strategy=leads)


def open_run(name: str = LAST, *, store: Place | None = None, directory: Place | None = None) -> Run:
    """Open a run to look at, by the name it was started with, its name, id or a beginning; without one, the newest."""
    project = given.project_at(directory)
    with project.open_store(project.resolve(flags={"store": _text(store)}), create=False) as opened:
        row = _meant(opened, name, project)
        return _opened(opened, run=row.id, name=row.name)[0]


def runs(*, store: Place | None = None, directory: Place | None = None) -> list[Run]:
    """List all runs of a store, oldest first."""
    project = given.project_at(directory)
    with project.open_store(project.resolve(flags={"store": _text(store)}), create=False) as opened:
        return [_opened(opened, run=row.id, name=row.name)[0] for row in listed(opened)]


# --- which run is meant ---


def _source(name: str, project: Project) -> str:
    """Say by what a run is known that was started with a name: as it was given, for its own may be another."""
    return f"{name} in {project.root}"


def _meant(store: Store, name: str, project: Project) -> RunRow:
    """Find the run that a start with this name would go on with, else what the command line would find."""
    known = None if name == LAST else newest_of(store, _source(name, project))
    return known or find_run(store, name)


# --- what is to be driven ---


def _planned(
    what: Iterable[TaskSpec] | None,
    project: Project,
    *,
    strategy: Strategy | str | None,
    lanes: Sequence[LaneSpec],
    flags: dict[str, object],
) -> Planned:
    name, complete = flags["name"], given.completing(project, task_defaults(project.resolve(flags=flags)))
    source = _source(str(name), project) if name else ""
    if strategy is None:
        tasks = given.tasks_of(what or (), complete)
        if not tasks:
            raise PlanError("there are no tasks to start", hint="give a plan file, tasks, or strategy=…")
        plan = Plan(tasks=tasks, lanes=lanes_of(lanes, tasks), path="what was given to budwood.start()")
        return make_planned(plan, project, flags=flags, source=source)
    if what is not None or lanes:
        raise UsageError("a strategy decides about tasks and lanes itself", hint="give either tasks or a strategy")
    empty = Plan(tasks=(), path="the strategy")
    if isinstance(strategy, str):
        return make_planned(empty, project, flags={**flags, "strategy": strategy}, source=source)
    given.refuse_led(strategy)
    named = {**flags, **given.flags_of_strategy(strategy, project.root)}
    leads = Completing(strategy, complete)
    return make_planned(empty, project, flags=named, source=source, strategy=leads)


def _hinting(opening: Opening) -> Opening:
    """Let what a run that has begun refuses to change be answered in Python's words, not the command line's."""

    def hinting(state: RunState) -> Iterator[Fact]:
        try:
            yield from opening(state)
        except UsageError as error:
            if state.number:
                error.hint = "again=True makes a new run"
            raise

    return hinting


def _refuse_beside_file(strategy: object, lanes: Sequence[LaneSpec]) -> None:
    if strategy is not None or lanes:
        raise UsageError("a plan file says itself which strategy and lanes it has", hint="give either of them")


def _go_on(
    store: Store, row: RunRow, strategy: Strategy | None, *, changes: dict[str, object]
) -> tuple[Strategy, Opening]:
    """Say how an old run goes on, and who leads it."""
    project = project_of(row)
    further = go_on_with(project, changes)
    if strategy is None:
        return strategy_of(store, row.id, root=project.root), further
    given.refuse_led(strategy)
    flags = given.flags_of_strategy(strategy, project.root)

    def opening(state: RunState) -> Iterator[Fact]:
        if (state.strategy, state.options) != (flags["strategy"], flags["options"]):
            raise UsageError(
                f"run {row.name} is led by {state.strategy} with {state.options}, "
                f"not by {flags['strategy']} with {flags['options']}",
                hint="make the object as it was made for the start; a run keeps its strategy",
            )
        yield from further(state)

    created = created_of(store, row.id)
    defaults = {} if created is None else created.task_defaults
    return Completing(strategy, given.completing(project, defaults)), opening


def _needs_no_driver(store: Store, row: RunRow, resolved: Resolved, *, is_changed: bool) -> bool:
    """Say whether nothing is left to drive: the run is over, or its driver, asked to, goes on by itself."""
    if row.phase is RunPhase.CANCELLED:
        raise UsageError(
            f"run {row.name} was cancelled; what it had done is kept",
            hint=f'budwood.open_run("{row.name}").retry() takes up again what was cancelled',
        )
    driven = store.holder(row.id) is not None
    if row.phase is RunPhase.PAUSED and driven and not is_changed:  # it waits for what still runs
        ask(Asked(store, row, resolved), "resume", alone=lambda request: None)
        return True
    if row.phase is not RunPhase.FINISHED or driven:
        return False
    return not may_be_merged(fold(store.read(row.id)))  # conflicts that were solved since are


# --- driving ---


def _opened(store: Store, *, run: str, name: str, on_event: OnEvent | None = None) -> tuple[Run, Inside]:
    """Make the object of a run; if this process drives it already, one that shares the drive."""
    inside = Inside(Look(store, run=run, name=name), on_event=on_event)
    for driving in process.drivings_of(run):
        if isinstance(driving, Driving):
            inside.driving = driving
    return Run(inside), inside


def _make_way(run: str) -> None:
    """Let a driver of this process leave at once that was told to stop, and only waits for what runs: we adopt it."""
    for driving in process.drivings_of(run):
        if isinstance(driving, Driving) and driving.stopping:
            driving.stop(now="driven on by the same program")
            if not driving.join(_LEAVE_WITHIN_S):
                raise LeaseHeld(driving.name, holder="this program, which told its driver to leave")


def _drive(
    run: Run,
    inside: Inside,
    store: Store,
    *,
    project: Project,
    settings: RunSettings,
    opening: Opening,
    strategy: Strategy,
) -> None:
    """Begin to drive; the store is the driver's from here on."""
    try:
        executor = make_executor(project, run.id, settings, store=store.address)
        driving = Driving(
            store,
            executor,
            run=run.id,
            name=run.name,
            strategy=strategy,
            telling=Telling(project, run=run.id, open_store=inside.look.open, given=None),
            hearing=_hearing(run, inside),
        )
    except BaseException:
        store.close()
        raise
    before, inside.driving = inside.driving, driving  # before the first event: who hears it may ask the run something
    try:
        driving.begin(opening)
    except BaseException:
        inside.driving = before
        raise


def _hearing(run: Run, inside: Inside) -> Hearing | None:
    if inside.on_event is None:
        return None
    try:
        loop: asyncio.AbstractEventLoop | None = asyncio.get_running_loop()
    except RuntimeError:
        loop = None
    return Hearing(inside.on_event, run=run, look=inside.look, loop=loop)


def _text(place: Place | None) -> str | None:
    return None if place is None else os.fspath(place)


def _refuse_importing() -> None:
    """Refuse to begin a run while a worker imports the script that began the worker's own: it would never end."""
    if "BUDWOOD_TASK" not in os.environ:
        return
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        if frame.f_code.co_filename == _IMPORTING:
            raise UsageError(
                "a run is started while a worker imports this module, and would start itself again and again",
                hint='put what starts it below if __name__ == "__main__":',
            )
        frame = frame.f_back
