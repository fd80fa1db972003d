"""`budwood show`: a run's tasks, one task with its attempts, or the decision log."""

import sys
from collections.abc import Iterator, Sequence

import click
import msgspec
from msgspec.structs import asdict

from budwood._core.events import AttemptEnded
from budwood._core.model import INSIDE, OPEN_ATTEMPT, AttemptPhase
from budwood._core.rows import AttemptRow, DependencyRow, RunRow, TaskRow
from budwood._core.state import AttemptState, TaskState
from budwood.cli.arguments import run_argument, task_argument
from budwood.cli.looking import json_option, looking, note, now_ms, read_state, store_option, write_json
from budwood.cli.sandbox import sandbox_words
from budwood.cli.scored import judgement_words, score_words
from budwood.cli.shapes import Shape, attempt_shape, run_shape, task_shape
from budwood.cli.standing import answer_command
from budwood.cli.tables import Column, write_table
from budwood.cli.text import bold, dim, one_line, tinted
from budwood.errors import UsageError
from budwood.project.find import NOT_BEGUN, begin_command, find_run, find_task
from budwood.project.times import ago, span
from budwood.project.untold import untold_of
from budwood.project.words import counted, money, size, some
from budwood.stores import Store

_TASK_COLUMNS = (
    Column("TASK", flexible=True),
    Column("STATE", tint=tinted),
    Column("ATTEMPTS", right=True),
    Column("TIME", right=True),
    Column("COST", right=True),
    Column("LANE", flexible=True),
    Column("BECAUSE", flexible=True),
    Column("WHAT", flexible=True),
)
_SHORT = 24
_LONG = 500
_ATTEMPT_COLUMNS = (
    Column("ATTEMPT", right=True),
    Column("STATE", tint=tinted),
    Column("STARTED", right=True),
    Column("TIME", right=True),
    Column("CPU", right=True),
    Column("MEMORY", right=True),
    Column("COST", right=True),
    Column("ENDED BY", flexible=True),
)


@click.command("show")
@run_argument(required=False)
@task_argument()
@click.option("--decisions", is_flag=True, help="Write the decision log: one canonical JSON line per task, no times.")
@json_option
@store_option
def command(run: str, task: str | None, decisions: bool, as_json: bool, where: str | None) -> None:
    """Show the tasks of a run, or one TASK with its attempts.

    \b
    Example: budwood show night build
    """
    if decisions and task is not None:
        raise UsageError("the decision log is of a whole run", hint="leave the task out, or --decisions")
    with looking(where) as (_, store):
        row = find_run(store, run)
        if decisions:
            _write_decisions(store, row)
        elif task is None:
            _show_run(store, row, as_json=as_json)
        else:
            _show_task(store, row, find_task(store, row, task), as_json=as_json)


def _write_decisions(store: Store, row: RunRow) -> None:
    """Write the exact bytes: two logs are compared with cmp."""
    from budwood._core.decisions import decision_lines

    for line in decision_lines(read_state(store, row)):
        sys.stdout.buffer.write(line + b"\n")
    sys.stdout.buffer.flush()


def _show_run(store: Store, row: RunRow, *, as_json: bool) -> None:
    tasks = store.tasks(row.id)
    if as_json:
        shape = run_shape(row, driver=store.holder(row.id))
        write_json({"run": shape, "tasks": [task_shape(task) for task in tasks]})
        return
    last = {attempt.task: attempt for attempt in store.attempts(row.id)}
    unknown = untold_of(store, row)
    now = now_ms()
    wanted = [task for task in tasks if not task.removed]
    cells = [_task_cells(task, last.get(task.number), now, unknown=unknown.get(task.id, 0)) for task in wanted]
    write_table(_TASK_COLUMNS, cells)
    if row.last_event == 0 and store.holder(row.id) is None:
        note(f"run {row.name}: {NOT_BEGUN}\n\nhint: {begin_command(row)}")
    gone = [task.id for task in tasks if task.removed]
    if gone:
        click.echo(dim(f"no longer in the plan: {some(gone)}"))


def _task_cells(task: TaskRow, last: AttemptRow | None, now: int, *, unknown: int) -> list[object]:
    return [
        task.id,
        task.phase.value,
        task.attempts or "",
        "" if last is None else took(last, now),
        money(task.cost_usd, guessed=unknown) if task.cost_usd else "",
        "" if task.lane is None else task.lane,
        "" if task.because is None else task.because,
        task.description or task.command,
    ]


def took(attempt: AttemptRow, now: int) -> str:
    """Say how long an attempt took, or has been running."""
    if attempt.wall_s is not None:
        return span(attempt.wall_s)
    if attempt.started_at_ms is None:
        return ""
    return span(max(0, (attempt.finished_at_ms or now) - attempt.started_at_ms) / 1000)


def _show_task(store: Store, row: RunRow, task: TaskRow, *, as_json: bool) -> None:
    attempts = store.attempts(row.id, task.number)
    ended = [(attempt, _end(store, row, attempt)) for attempt in attempts]
    needs, dependants = _neighbours(store, row, task)
    is_open = any(attempt.phase in OPEN_ATTEMPT for attempt in attempts)
    reviewed = any(end is not None and end.left for _, end in ended)
    state = read_state(store, row) if is_open or reviewed else None
    stands = None if state is None else state.tasks[task.number]
    review = None if stands is None else _review(stands)
    says = _says(None if stands is None else stands.attempt)
    if as_json:
        judgement = None if stands is None or stands.judgement is None else msgspec.to_builtins(stands.judgement)
        shape: Shape = {**task_shape(task), "after": needs, "before": dependants, "review": review, **says}
        shape |= {"judgement": judgement}
        write_json({"run": row.name, "task": shape, "attempts": [_attempt_shape(task, *each) for each in ended]})
        return
    sandbox = "" if state is None else sandbox_words(state.settings)
    judged = None if stands is None or stands.judgement is None else judgement_words(stands.judgement)
    unknown = untold_of(store, row)[task.id] if task.cost_usd else 0
    cost = money(task.cost_usd, guessed=unknown) if task.cost_usd else ""
    more = {"cost": cost, "review": review, "decision": judged, **says, "sandbox": sandbox}
    _write_task_head(row, task, needs=needs, dependants=dependants, more=more)
    if says.get("question"):
        note(f"\nhint: {answer_command(row.name, task.id)}")
    if attempts:
        click.echo()
        now = now_ms()
        write_table(_ATTEMPT_COLUMNS, [_attempt_cells(attempt, now) for attempt in attempts], indent="  ")
        for attempt, end in ended:
            if len(_ending(attempt)) > _SHORT:  # a table may have cut it
                click.echo(f"\n  attempt {attempt.number}: {one_line(_ending(attempt))}")
            result = None if end is None else _result(end)
            if result is not None:
                click.echo(f"\n  attempt {attempt.number} returned {_cut(msgspec.json.encode(result).decode())}")
            for line in () if end is None else _work_lines(end):
                click.echo(line)
    else:
        click.echo("\n  no attempts yet")


def _end(store: Store, row: RunRow, attempt: AttemptRow) -> AttemptEnded | None:
    """Read the event that ended an attempt."""
    if attempt.end_event is None:
        return None
    event = next(iter(store.read(row.id, attempt.end_event - 1))).event
    return event if isinstance(event, AttemptEnded) else None


def _result(end: AttemptEnded) -> object:
    """Return what an attempt's function returned; None of all others."""
    if end.phase is not AttemptPhase.SUCCEEDED or end.result is msgspec.UNSET:
        return None
    found: object = msgspec.json.decode(end.result)
    return found


def _review(state: TaskState) -> str | None:
    return None if state.review is None else state.review.value


def _says(attempt: AttemptState | None) -> dict[str, str | None]:
    """Tell what the open attempt asks, and how far it says that it has come."""
    return {
        "question": None if attempt is None or attempt.asks is None else attempt.asks.text,
        "progress": None if attempt is None or attempt.progress is None else attempt.progress.words,
    }


def _attempt_shape(task: TaskRow, attempt: AttemptRow, end: AttemptEnded | None) -> Shape:
    return {
        **attempt_shape(attempt, task=task.id),
        "result": None if end is None else _result(end),
        "score": None if end is None or end.score is None else msgspec.to_builtins(end.score),
        "left": None if end is None or end.left is None else asdict(end.left),
        "told": None if end is None or end.told is None else asdict(end.told),
        "reviewed": None if end is None or end.reviewed is None else msgspec.to_builtins(end.reviewed),
    }


def _work_lines(end: AttemptEnded) -> Iterator[str]:
    """Say what an attempt in a workspace left, and what its agent said of itself."""
    if end.left is not None:
        left = end.left
        yield (
            f"\n  attempt {end.attempt} changed {counted(left.files, 'file')}, "
            f"+{left.lines_added} -{left.lines_removed}: candidate {left.candidate[:12]}"
        )
        if left.not_kept:
            yield f"    not kept: {one_line(some(left.not_kept))}"
        if left.inside:
            yield f"    changed files {INSIDE}: {one_line(some(left.inside))}"
        if left.outside:
            yield f"    of yours changed meanwhile: {one_line(some(left.outside))}"
    if end.score is not None:
        yield f"    score {one_line(score_words(end.score))}"
    if end.told is not None:
        told = end.told
        parts = [f"agent {told.agent}", told.outcome, told.model, told.session and f"session {told.session}"]
        parts += [None if told.turns is None else counted(told.turns, "turn")]
        parts += [None if told.list_usd is None else f"list price {money(told.list_usd)}"]
        yield f"    {one_line(', '.join(part for part in parts if part))}"
    if end.reviewed is not None:
        review = end.reviewed
        verdict = review.verdict or f"no verdict ({review.outcome})"
        parts = [f"reviewer {review.agent}", verdict, review.model]
        parts += [None if review.usage.cost_usd is None else money(review.usage.cost_usd)]
        parts += [None if review.list_usd is None else f"list price {money(review.list_usd)}"]
        yield f"    {one_line(', '.join(part for part in parts if part))}"


def _cut(text: str) -> str:
    return one_line(text if len(text) <= _LONG else f"{text[:_LONG]}… (--json has all of it)")


def _neighbours(store: Store, row: RunRow, task: TaskRow) -> tuple[list[object], list[object]]:
    ids = {each.number: each.id for each in store.tasks(row.id)}
    edges: Sequence[DependencyRow] = [edge for edge in store.dependencies(row.id) if edge.hard]
    needs: list[object] = [ids[edge.needs] for edge in edges if edge.task == task.number]
    return needs, [ids[edge.task] for edge in edges if edge.needs == task.number]


def _write_task_head(
    row: RunRow, task: TaskRow, *, needs: list[object], dependants: list[object], more: dict[str, str | None]
) -> None:
    phase = tinted(task.phase.value) + (dim("  no longer in the plan") if task.removed else "")
    place = dim(f"task {task.number} of run {row.name}, key {task.key}")
    click.echo(f"{bold(one_line(str(task.id)))}  {phase}  {place}")
    lines = {
        "about": one_line(task.description),
        "command": one_line(task.command),
        "lane": "" if task.lane is None else str(task.lane),
        "group": task.group or "",
        "priority": str(task.priority) if task.priority else "",
        "after": some(needs, 10),
        "before": some(dependants, 10),
        "because": "" if task.because is None else f"{task.because} did not succeed",
        **{"asks" if name == "question" else name: one_line(text or "") for name, text in more.items()},
    }
    for name, text in lines.items():
        if text:
            click.echo(f"  {name:9} {text}")


def _attempt_cells(attempt: AttemptRow, now: int) -> list[object]:
    return [
        attempt.number,
        attempt.phase.value,
        ago(attempt.started_at_ms, now),
        took(attempt, now),
        "" if attempt.cpu_s is None else span(attempt.cpu_s),
        "" if not attempt.peak_memory_bytes else size(attempt.peak_memory_bytes),
        "" if attempt.cost_usd is None else money(attempt.cost_usd),
        _ending(attempt),
    ]


def _ending(attempt: AttemptRow) -> str:
    if attempt.phase in (AttemptPhase.RUNNING, AttemptPhase.NEEDS_INPUT, AttemptPhase.SCORING):
        return f"pid {attempt.pid}"
    if attempt.error is None:
        return "" if attempt.exit_code is None else f"exit code {attempt.exit_code}"
    return attempt.error.message + ("; tried again" if attempt.error.will_retry else "")
