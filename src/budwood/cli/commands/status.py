"""`budwood status`: one run on one screen."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import click

from budwood._core.model import ENDED_RUN, AttemptError, TaskPhase
from budwood._core.rows import RunRow
from budwood._core.state import TaskState
from budwood.cli.arguments import run_argument
from budwood.cli.found import Found, look_for
from budwood.cli.landing import landing_lines
from budwood.cli.looking import json_option, looking, note, now_ms, read_state, store_option, write_json
from budwood.cli.reasons import Scene, found_words
from budwood.cli.sandbox import sandbox_words
from budwood.cli.shapes import Shape, run_shape
from budwood.cli.standing import failures, next_command, open_attempts, waiting
from budwood.cli.tables import Column, write_table
from budwood.cli.text import bold, dim, one_line, tinted
from budwood.project.budgets import budgets
from budwood.project.find import NOT_BEGUN, find_run
from budwood.project.place import run_dir_of
from budwood.project.times import ago, span
from budwood.project.words import money
from budwood.stores import Store
from budwood.strategies.progress import search_progress

_SHOWN = 5
_TASK = Column("TASK", flexible=True)
_WHY = Column("WHY", flexible=True)


@click.command("status")
@run_argument(required=False)
@json_option
@store_option
def command(run: str, as_json: bool, where: str | None) -> None:
    """Show where a run stands: the newest, or RUN.

    \b
    Example: budwood status night
    """
    with looking(where) as (_, store):
        row = find_run(store, run)
        scene = scene_of(store, row)
        if as_json:
            write_json(_shape(scene, row))
            return
        _write_head(scene, row)
        _write_lists(scene)
    follows = next_command(scene, row)
    if follows is not None:
        note(f"\nhint: {follows}")


def scene_of(store: Store, row: RunRow) -> Scene:
    """Look at a run: what it has come to, who drives it, what time it is."""
    driver = None if row.phase in ENDED_RUN else store.holder(row.id)
    found = partial(_found, run_dir_of(row)) if driver is None else lambda task: None
    return Scene(
        read_state(store, row), driver, now_ms(), partial(last_error, store, row.id), found, store.moved_to(row.id)
    )


def _found(run_dir: Path, task: TaskState) -> Found | None:
    attempt = task.attempt
    if attempt is None:
        return None
    if attempt.spec.function is not None:
        return Found.REPEATED
    begun = attempt.started_at_ms is not None
    return look_for(run_dir, task=task.number, attempt=attempt.number, slot=attempt.slot, begun=begun)


def last_error(store: Store, run: str, task: TaskState) -> AttemptError | None:
    """Look up why the newest ended attempt of a task did not succeed."""
    errors = [attempt.error for attempt in store.attempts(run, task.number) if attempt.finished_at_ms is not None]
    return errors[-1] if errors else None


def _shape(scene: Scene, row: RunRow) -> Shape:
    state = scene.state
    return {
        "run": run_shape(row, driver=scene.driver),
        "counts": {phase.value: count for phase, count in state.counts.items()},
        "slots": {"total": state.settings.slots, "busy": len(state.holdings.slots)},
        "sandbox": {"kind": state.settings.sandbox, "network": state.settings.network},
        "running": open_attempts(scene),
        "waiting": waiting(scene),
        "failed": failures(scene),
        "budget": budgets(state, scene.now_ms),
        "search": search_progress(state),
        "next": next_command(scene, row),
    }


def _write_head(scene: Scene, row: RunRow) -> None:
    state, now, search = scene.state, scene.now_ms, search_progress(scene.state)
    lines = {
        "goal": one_line(row.goal),
        "moved to": one_line(scene.moved_to or ""),
        "because": NOT_BEGUN if row.last_event == 0 and scene.driver is None else one_line(row.reason),
        "driver": "" if row.phase in ENDED_RUN or scene.moved_to else scene.driver or "none",
        "tasks": _counts(scene) if row.last_event else "",
        "search": "" if search is None else one_line(search.words),
        "slots": ""
        if row.phase in ENDED_RUN or row.last_event == 0
        else f"{len(state.holdings.slots)} of {state.settings.slots} taken",
        "sandbox": "" if state.settings.workspace is None else sandbox_words(state.settings),
        **(_budgets(scene) if row.last_event else {}),
        "driven": span(state.driven_until(now if scene.driver else state.at_ms)) if row.last_event else "",
        "created": ago(row.created_at_ms, now) if row.last_event else "",
        "ended": ago(row.ended_at_ms, now) if row.ended_at_ms else "",
        "plan": one_line(row.source),
    }
    click.echo(f"{bold(row.name)}  {tinted(row.phase.value)}  {dim(row.id)}")
    for name, text in lines.items():
        if text:
            click.echo(f"  {name:9} {text}")
    for line in landing_lines(state):
        click.echo(line)


def _counts(scene: Scene) -> str:
    state = scene.state
    others = [p for p in TaskPhase if p is not TaskPhase.DONE and state.counts[p]]
    parts = [
        f"{state.counts[TaskPhase.DONE]} of {state.planned} done",
        *(f"{state.counts[p]} {p.value}" for p in others),
    ]
    return ", ".join(parts)


def _budgets(scene: Scene) -> dict[str, str]:
    limits, spent = scene.state.settings, scene.state.spending
    told = {"attempts": str(spent.attempts)}
    if limits.max_attempts is not None:
        told["attempts"] += f" of {limits.max_attempts}"
    if spent.cost_usd or limits.budget_usd is not None:
        told["cost"] = money(spent.cost_usd, guessed=spent.untold)
        if limits.budget_usd is not None:
            left = max(0.0, limits.budget_usd - spent.cost_usd - spent.reserved_usd)
            told["cost"] += f" of {money(limits.budget_usd)}, {money(left)} left"
        if spent.reserved_usd:
            told["cost"] += f", {money(spent.reserved_usd)} reserved"
    if spent.tokens or limits.budget_tokens is not None:
        told["tokens"] = f"{spent.tokens:,}" + (f" of {limits.budget_tokens:,}" if limits.budget_tokens else "")
    if limits.budget_time_s is not None:
        told["time"] = f"at most {span(limits.budget_time_s)}"
    return told


def _write_lists(scene: Scene) -> None:
    counts = scene.state.counts
    attempts = open_attempts(scene)
    over = [one for one in attempts if found_words(one.found)]
    asking = [one for one in attempts if one.question is not None and one not in over]
    running = [one for one in attempts if one not in over]
    numbers = [Column(name, right=True) for name in ("ATTEMPT", "SLOT", "PID", "FOR")]
    asked = [[one.task, one.question] for one in asking]
    _write_list("needs input", [_TASK, Column("ASKS", flexible=True)], asked, total=len(asked))
    says = [Column("SAYS", flexible=True)] if any(one.progress for one in running) else []
    cells = [[one.task, one.attempt, one.slot, one.pid or "", span(one.elapsed_s)] for one in running]
    rows = [[*row, one.progress or ""][: 5 + len(says)] for row, one in zip(cells, running, strict=True)]
    _write_list("running", [_TASK, *numbers, *says], rows, total=len(running))
    left = [[one.task, one.attempt, found_words(one.found)] for one in over]
    _write_list("no longer running", [_TASK, numbers[0], Column("IT", flexible=True)], left, total=len(over))
    _write_list(
        "ready", [_TASK, _WHY], [[one.task, one.reason] for one in waiting(scene)], total=counts[TaskPhase.READY]
    )
    failed = [[one.task, one.message] for one in failures(scene)]
    _write_list("failed", [_TASK, _WHY], failed, total=counts[TaskPhase.FAILED])


def _write_list(title: str, columns: Sequence[Column], rows: Sequence[Sequence[object]], *, total: int) -> None:
    if not rows:
        return
    click.echo(f"\n{bold(title)}")
    write_table(columns, rows[:_SHOWN], indent="  ")
    if total > _SHOWN:
        click.echo(f"  and {total - _SHOWN} more")
