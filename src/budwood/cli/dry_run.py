"""What a run would do, without doing it: batches, slots, money, and what of an earlier run stays.

Reads the store if there is one. Starts and writes nothing.
"""

from collections.abc import Container, Iterator

import click

from budwood._core.events import Recorded
from budwood._core.graph import batches
from budwood._core.ids import free_name
from budwood._core.machine import handle
from budwood._core.model import ENDED_RUN, ENDED_TASK, PLAN, RunPhase, TaskPhase
from budwood._core.replay import fold
from budwood._core.reserve import reserve_of
from budwood._core.state import RunState, TaskState
from budwood.cli.costs import estimate_line
from budwood.cli.text import one_line
from budwood.cli.view.lines import revised_line
from budwood.engine.opening import changed_settings, revision
from budwood.errors import UsageError
from budwood.project.expecting import Expectations, expectations
from budwood.project.find import newest_of
from budwood.project.ideas import hashes, untried
from budwood.project.planned import Planned
from budwood.project.words import counted, money, some
from budwood.strategies.beam_nodes import IDEA_PATH

_SHOWN_BATCHES = 20
_SHOWN_TASKS = 8


def show_dry_run(planned: Planned, *, again: bool) -> None:
    """Write to standard output what `run` would do."""
    name, state, found = _earlier(planned, again=again)
    planned = planned.expecting(found)
    for line in _batches(planned) if planned.strategy_name == PLAN else _asked(planned):
        click.echo(line)
    outlook = list(_outlook(planned, name, state))  # which brings the state to the plan as it is now
    for line in (*_money(planned, found, state), *(_refusal(planned) or outlook)):
        click.echo(line)
    click.echo("nothing was started or written")


def _earlier(planned: Planned, *, again: bool) -> tuple[str, RunState | None, Expectations]:
    """Return what the run would be called, what this file's newest one has come to, and what attempts cost before.

    None if a run would begin.
    """
    try:
        store = planned.project.open_store(planned.resolved, create=False)
    except UsageError:
        return planned.name, None, {}  # no store yet
    with store:
        found = expectations(store, planned.settings.agents)
        row = None if again else newest_of(store, planned.source)
        if row is None:
            return free_name(planned.name, (run.name for run in store.runs())), None, found
        return row.name, None if row.last_event == 0 else fold(store.read(row.id)), found


def _asked(planned: Planned) -> Iterator[str]:
    limits = planned.settings
    slots, window = counted(limits.slots, "slot"), f"window {limits.window}"
    yield f"tasks are asked of {planned.strategy_name} while it runs: {window}, at most {limits.max_tasks}, {slots}"
    foreseen = planned.strategy.foreseen()
    for task in foreseen:
        after = f"  after {', '.join(map(str, task.after))}" if task.after else ""
        yield f"  {task.id}{after}  {one_line(task.description)}  {task.env.get(IDEA_PATH, '')}".rstrip()
    if planned.strategy_name == "beam":
        yield from _left_out(planned, {task.env.get(IDEA_PATH) for task in foreseen})


def _left_out(planned: Planned, tried: Container[str | None]) -> Iterator[str]:
    """Name the ideas that are not tried where a beam begins."""
    never = untried(planned.options)
    yield from (f"  not tried: {one_line(path)}, {one_line(why)}" for path, why in never.items())
    given = hashes(planned.options.get("ideas"))
    later = [one_line(path) for path in given if path not in tried and path not in never]
    if later:
        room = len(given) - len(never) - len(later)
        yield f"  not at root, where {counted(room, 'idea')} may be tried: {some(later, _SHOWN_TASKS)}"


def _batches(planned: Planned) -> Iterator[str]:
    grouped = batches(planned.graph)
    for number, batch in enumerate(grouped[:_SHOWN_BATCHES], start=1):
        ids = some((one_line(str(planned.graph.ids[task])) for task in batch), _SHOWN_TASKS)
        yield f"batch {number:>2}  {counted(len(batch), 'task'):>9}  {ids}"
    if len(grouped) > _SHOWN_BATCHES:
        yield f"and {len(grouped) - _SHOWN_BATCHES} more batches: budwood plan show {planned.plan.path}"
    yield _size(planned)


def _size(planned: Planned) -> str:
    grouped = batches(planned.graph)
    widest = max(map(len, grouped), default=0)
    tasks, slots = counted(len(planned.plan.tasks), "task"), counted(planned.settings.slots, "slot")
    return f"{tasks} in {len(grouped)} batch{'' if len(grouped) == 1 else 'es'}, at most {widest} at once, {slots}"


def _money(planned: Planned, found: Expectations, state: RunState | None) -> Iterator[str]:
    """Say what is still to be paid for, by tasks that joined on the way as well."""
    limits = planned.settings
    left = None if state is None else [task.spec for task in state.tasks if _is_to_be_done(task)]
    tasks = planned.plan.tasks if left is None else left
    outlook = planned.estimate(found, left=left)
    if outlook.is_paid:
        yield estimate_line(outlook, budget_usd=limits.budget_usd)
    usd = sum(reserve_of(limits, task) for task in tasks)
    most = sum(reserve_of(limits, task) * (1 + task.retries) for task in tasks)
    if usd:
        budget = "no budget" if limits.budget_usd is None else f"of a budget of {money(limits.budget_usd)}"
        yield f"reserves {money(usd)}, with every retry {money(most)}, {budget}"
    tokens = sum(task.reserve_tokens for task in tasks)
    if tokens:
        budget = "no budget" if limits.budget_tokens is None else f"of a budget of {limits.budget_tokens}"
        yield f"reserves {tokens} tokens, {budget}"


def _refusal(planned: Planned) -> list[str]:
    """Say why `run` would not begin on this machine, if so."""
    try:
        planned.refuse_missing()
    except UsageError as refused:
        return [f"would be refused here: {one_line(refused.message)}"]
    return []


def _outlook(planned: Planned, name: str, state: RunState | None) -> Iterator[str]:
    is_plan = planned.strategy_name == PLAN
    if state is None and not is_plan:
        yield f"would make a new run {name}"
        return
    if state is None:
        yield f"would make a new run {name} and start all {counted(len(planned.plan.tasks), 'task')}"
        return
    try:
        list(planned.opening(run=state.id, name=state.name)(state))
    except UsageError as refused:
        yield f"would be refused: {one_line(refused.message)}"
        return
    revised = revision(state, planned.plan.tasks, planned.plan.lanes) if is_plan else None
    if revised is None and state.phase in ENDED_RUN:
        yield f"run {state.name} is {state.phase.value}, its plan unchanged: nothing would run; --again runs it afresh"
        return
    if revised is not None:
        yield revised_line(revised)
        handle(state, Recorded(state.number + 1, state.at_ms, revised))
    changed = changed_settings(state.settings, planned.settings_of(state))
    if changed:
        yield f"settings would change: {', '.join(changed)}"
    yield _goes_on(state)
    created = [task.spec.id for task in state.tasks if task.is_created and _is_to_be_done(task)]
    if created:
        yield f"{counted(len(created), 'task')} of these joined while it went on: {some(created, _SHOWN_TASKS)}"


def _is_to_be_done(task: TaskState) -> bool:
    return not task.removed and task.phase not in ENDED_TASK


def _goes_on(state: RunState) -> str:
    counts = state.counts
    ended = (TaskPhase.DONE, TaskPhase.FAILED, TaskPhase.SKIPPED)
    kept = [f"{counts[phase]} {phase.value}" for phase in ended if counts[phase]]
    left = counts[TaskPhase.BLOCKED] + counts[TaskPhase.READY]
    parts = [f"{left} would run"]
    if counts[TaskPhase.ACTIVE]:
        parts.append(f"{counts[TaskPhase.ACTIVE]} would be adopted or settled")
    if kept:
        parts.append(f"{', '.join(kept)} would stay")
    pause = " (it is paused and would go on)" if state.phase is RunPhase.PAUSED else ""
    return f"run {state.name} would go on{pause}: {'; '.join(parts)}"
