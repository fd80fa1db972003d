"""`budwood why`: why a task does not run, why it failed, why a run does not go on."""

import shlex

import click
import msgspec

from budwood._core.candidates import lane_of
from budwood._core.choice import competes
from budwood._core.model import TaskPhase
from budwood._core.rows import RunRow
from budwood._core.state import RunState, TaskState
from budwood.cli.arguments import run_argument, task_argument
from budwood.cli.commands.status import scene_of
from budwood.cli.landing import broken_hint, does_not_fit, fit_hint
from budwood.cli.logs import read_log
from budwood.cli.looking import json_option, looking, note, store_option, write_json
from budwood.cli.reasons import Reason, Scene, why_run, why_task
from budwood.cli.standing import open_command, way_on
from budwood.cli.text import bold, dim, has_colour, one_line, tinted, visible
from budwood.engine.landing import is_verify
from budwood.project.find import find_run, find_task
from budwood.project.place import run_dir_of
from budwood.stores import Store

_TAIL_LINES = 10
_TAIL_BYTES = 4096


@click.command("why")
@run_argument(required=False)
@task_argument()
@json_option
@store_option
def command(run: str, task: str | None, as_json: bool, where: str | None) -> None:
    """Say why a TASK does not run or why it failed, or why a run stands still.

    \b
    Example: budwood why night deploy
    """
    with looking(where) as (_, store):
        row = find_run(store, run)
        scene = scene_of(store, row)
        if task is None:
            _answer(scene, row, None, why_run(scene), tail="", as_json=as_json)
            return
        found = scene.state.tasks[find_task(store, row, task).number]
        reasons = why_task(scene, found)
        blamed = _to_blame(scene, found)
        tail = "" if blamed is None else _tail(store, row, blamed)
        _answer(scene, row, found, reasons, tail=tail, as_json=as_json)


def _to_blame(scene: Scene, task: TaskState) -> TaskState | None:
    """Find the task whose last words explain it: the one that failed, or is tried again."""
    if task.phase is TaskPhase.SKIPPED:
        task = scene.state.by_id.get(str(task.because), task)
    return task if task.phase is TaskPhase.FAILED or (task.phase is TaskPhase.READY and task.attempts) else None


def _tail(store: Store, row: RunRow, task: TaskState) -> str:
    attempts = store.attempts(row.id, task.number)
    data = read_log(store, row.id, run_dir_of(row), attempts[-1]) if attempts else None
    lines = (data or b"")[-_TAIL_BYTES:].decode("utf-8", "backslashreplace").splitlines()
    return "\n".join(lines[-_TAIL_LINES:])


def _answer(
    scene: Scene, row: RunRow, task: TaskState | None, reasons: list[Reason], *, tail: str, as_json: bool
) -> None:
    phase = row.phase.value if task is None else task.phase.value
    follows = _next(scene, row, task)
    if as_json:
        named = None if task is None else task.spec.id
        told = [msgspec.structs.asdict(reason) for reason in reasons]
        answer = {"run": row.name, "task": named, "state": phase, "reasons": told, "log_tail": tail, "next": follows}
        write_json(answer)
        return
    whom = f"run {row.name}" if task is None else f"task {task.spec.id} of run {row.name}"
    click.echo(f"{bold(one_line(whom))}: {tinted(phase)}")
    for reason in reasons:
        about = "" if reason.task is None else f"{one_line(str(reason.task))}: "
        click.echo(f"  {about}{one_line(reason.text)}")
    if tail:
        click.echo(dim("\n  the end of the log:"))
        for line in visible(tail, colour=has_colour()).split("\n"):
            click.echo(f"  | {line}")
    if follows is not None:
        note(f"\nhint: {follows}")


def _next(scene: Scene, row: RunRow, task: TaskState | None) -> str | None:
    follows = way_on(scene, row)
    if follows is not None:
        return follows
    conflicts = scene.state.landing.conflicts
    lines = list(conflicts) if task is None else [line for line in conflicts if line == lane_of(task.spec)]
    if lines:
        return open_command(row.name, lines[0])
    return _for_run(scene.state) if task is None else _for_task(scene.state, task)


def _for_run(state: RunState) -> str | None:
    failed = [each for each in state.tasks if each.phase is TaskPhase.FAILED and not each.removed]
    failed = [each for each in failed if not competes(state, each)]  # a search goes on without those
    if failed and all(map(does_not_fit, failed)):
        return fit_hint(state, failed)
    if state.landing.held and all(map(is_verify, failed)):
        return broken_hint(state)
    return f"budwood retry {shlex.quote(state.name)}" if failed else None


def _for_task(state: RunState, task: TaskState) -> str | None:
    cause = state.by_id.get(str(task.because), task) if task.phase is TaskPhase.SKIPPED else task
    if lane_of(task.spec) in state.landing.held:
        return broken_hint(state)
    if competes(state, cause) and (does_not_fit(cause) or not state.asking):
        return None  # a search goes on without it, or has ended
    if does_not_fit(cause):
        return fit_hint(state, [cause])
    if task.phase in (TaskPhase.FAILED, TaskPhase.CANCELLED, TaskPhase.SKIPPED) and not task.removed:
        return f"budwood retry {shlex.quote(state.name)} {shlex.quote(str(task.spec.id))}"
    return None
