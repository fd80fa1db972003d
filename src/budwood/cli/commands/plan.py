"""`budwood plan`: look at a plan before it runs, or at how a run's lanes go together; make one of others' tables."""

from pathlib import Path

import click

from budwood._core.graph import Graph, build, critical_path, widths
from budwood._core.model import PLAN, TaskId
from budwood.cli.arguments import run_argument
from budwood.cli.conflict_matrix import write_matrix
from budwood.cli.garbage import building, keep
from budwood.cli.looking import json_option, looking, note, store_option, write_json
from budwood.cli.shapes import Shape
from budwood.cli.tables import Column, terminal_width, write_table
from budwood.cli.text import is_terminal, one_line
from budwood.cli.whole import is_named, output, output_option
from budwood.errors import UsageError
from budwood.plans import Plan, batch_rows, read_plan, to_ascii, to_mermaid
from budwood.project.desk import sit_down
from budwood.project.find import find_run
from budwood.project.place import find_project
from budwood.project.planned import read_planned
from budwood.project.searching import strategy_name
from budwood.project.words import counted

_FILE = click.Path(path_type=Path)
_COLUMNS = (
    Column("BATCH", right=True),
    Column("TASKS", right=True),
    Column("LANES", flexible=True),
    Column("IDS", flexible=True),
)


@click.group("plan")
def command() -> None:
    """Look at a plan file before it runs, or make one of another program's tables.

    \b
    Example: budwood plan show tonight.toml
    """


@command.command("show")
@click.argument("file", type=_FILE)
@click.option("--mermaid", is_flag=True, help="Draw a Mermaid flowchart.")
@click.option("--ascii", "as_ascii", is_flag=True, help="Draw it as text, with what each task waits for.")
@click.option("--lane", metavar="LANE", help="Only the tasks of one lane.")
@click.option("--batch", type=int, metavar="N", help="Only one batch; they count from 1.")
@json_option
def show(file: Path, mermaid: bool, as_ascii: bool, lane: str | None, batch: int | None, as_json: bool) -> None:
    """Show in which batches the tasks of FILE can run.

    A batch is a view: a task starts as soon as what it comes after is done, without waiting for its batch.

    \b
    Example: budwood plan show tonight.toml --ascii
    """
    if mermaid + as_ascii + as_json > 1:
        raise UsageError("--mermaid, --ascii and --json exclude each other", hint="choose one of them")
    with building():
        plan = keep(read_plan(file))
        graph = keep(build(plan.tasks, plan.lanes))
    _note_left_out(plan)
    if mermaid:
        click.echo(to_mermaid(graph, plan, lane=lane, batch=batch), nl=False)
    elif as_ascii:
        room = terminal_width() if is_terminal() else 80
        click.echo(to_ascii(graph, plan, lane=lane, batch=batch, width=room), nl=False)
    elif as_json:
        write_json(_shape(graph, plan, lane=lane, batch=batch))
    elif (asked := _asked(file, plan)) is not None:
        click.echo(f"tasks are asked of {one_line(asked)} while it runs")
    else:
        _write_batches(graph, plan, lane=lane, batch=batch)


def _note_left_out(plan: Plan) -> None:
    for text in plan.left_out:
        note(f"note: {one_line(text)}")


def _asked(file: Path, plan: Plan) -> str | None:
    """Name who is asked for tasks; None if the plan has them all."""
    name = strategy_name(find_project(file.resolve().parent).resolve(flags={}, plan=plan))
    return None if name == PLAN else name


def _shape(graph: Graph, plan: Plan, *, lane: TaskId | None, batch: int | None) -> Shape:
    return {
        "file": plan.path,
        "format": plan.format,
        "tasks": len(plan.tasks),
        "batches": [row.tasks for row in batch_rows(graph, plan, lane=lane, batch=batch)],
        "critical_path": [graph.ids[number] for number in critical_path(graph)],
        "lanes": [
            {
                "id": given.id,
                "name": given.name,
                "after": given.after,
                "tasks": [task.id for task in plan.tasks if str(task.lane) == str(given.id)],
            }
            for given in plan.lanes
        ],
        "dropped": [{"task": graph.ids[task], "after": graph.ids[after]} for task, after in graph.dropped],
    }


def _write_batches(graph: Graph, plan: Plan, *, lane: TaskId | None, batch: int | None) -> None:
    rows = batch_rows(graph, plan, lane=lane, batch=batch)
    cells = [
        [row.number, len(row.tasks), ", ".join(map(str, row.lanes)), ", ".join(map(str, row.tasks))] for row in rows
    ]
    write_table(_COLUMNS, cells)
    path = critical_path(graph)
    if lane is None and batch is None and path:
        ids = " -> ".join(one_line(str(graph.ids[number])) for number in path[:10])
        more = f" -> … ({len(path)} tasks)" if len(path) > 10 else ""
        note(f"\nlongest path: {ids}{more}")


@command.command("check")
@click.argument("file", type=_FILE)
@json_option
def check(file: Path, as_json: bool) -> None:
    """Check FILE and warn of what is probably not meant.

    A warning is no error: the exit code is 0. A plan that cannot be followed is one: 2.

    \b
    Example: budwood plan check tonight.toml
    """
    with building():
        planned = keep(read_planned(str(file), {}, manned=False))
    plan, graph, warnings = planned.plan, planned.graph, planned.warnings()
    _note_left_out(plan)
    sizes = widths(graph)
    widest, longest = max(sizes, default=0), len(sizes)
    if as_json:
        write_json(
            {
                "file": plan.path,
                "format": plan.format,
                "tasks": len(plan.tasks),
                "lanes": len(plan.lanes),
                "batches": len(sizes),
                "widest": widest,
                "longest": longest,
                "slots": planned.settings.slots,
                "warnings": warnings,
            }
        )
        return
    for warning in warnings:
        click.echo(f"warning: {one_line(warning)}")
    lanes = f", {counted(len(plan.lanes), 'lane')}" if plan.lanes else ""
    verdict = counted(len(warnings), "warning") if warnings else "nothing to warn of"
    found = f"{counted(len(plan.tasks), 'task')}{lanes}; widest batch {widest}, longest path {longest}"
    if planned.strategy_name != PLAN:
        found = f"tasks are asked of {one_line(planned.strategy_name)} while it runs"
    click.echo(f"{one_line(plan.path)}: {found}; {verdict}")


@command.command("conflicts")
@run_argument(required=False)
@json_option
@store_option
def conflicts(run: str, as_json: bool, where: str | None) -> None:
    """Show which lanes of RUN would conflict with each other, as they stand now.

    Nothing is merged, and no file is touched: it may be asked while the run goes on.

    \b
    Example: budwood plan conflicts night
    """
    with looking(where) as (_, store):
        desk = sit_down(store, find_run(store, run))
        write_matrix(desk, as_json=as_json)


@command.command("import")
@click.argument("files", type=_FILE, nargs=-1, required=True, metavar="FILES...")
@click.option("--project", metavar="NAME", help="Of several projects in one database, the one to take.")
@output_option
def import_(files: tuple[Path, ...], project: str | None, file: Path | None) -> None:
    """Make a plan of YokeFlow's tables: a dump of its database, or CSV or JSON of them.

    A dump is what pg_dump writes as SQL, with or without --inserts. A table as CSV is a file of its own, called after
    it: tasks.csv. What is done stays so, and is not run again. Nothing of the other program is changed.

    \b
    Example: budwood plan import dump.sql -o plan.json
    """
    from budwood.plans.importing import import_plan  # seldom needed

    imported = import_plan(files, project=project)
    with output(file) as out:
        out.write(imported.raw)
    for text in imported.notes:
        note(f"note: {one_line(text)}")
    if is_named(file):
        tasks, lanes = counted(len(imported.plan.tasks), "task"), counted(len(imported.plan.lanes), "lane")
        note(f"{file}: {tasks} in {lanes}")
