"""`budwood compare`: what attempts made, side by side."""

from pathlib import Path

import click
import msgspec

from budwood.cli.arguments import run_argument
from budwood.cli.comparison import HEADS, NUMBERS, cells
from budwood.cli.complete import TaskName
from budwood.cli.differences import write_patch
from budwood.cli.looking import json_option, looking, note, store_option, write_json
from budwood.cli.tables import Column, write_table
from budwood.cli.text import bold, one_line, tinted
from budwood.errors import UsageError
from budwood.project.comparing import compare_run
from budwood.project.desk import Desk, sit_down
from budwood.project.find import find_run
from budwood.project.words import some
from budwood.review.comparing import Compared, by_file

_TINTS = {"State": tinted}
_FLEXIBLE = ("Task", "Agent", "Model", "Why")
_COLUMNS = tuple(
    Column(head.upper(), right=head in NUMBERS, flexible=head in _FLEXIBLE, tint=_TINTS.get(head)) for head in HEADS
)


@click.command("compare")
@run_argument(required=True)
@click.argument("tasks", nargs=-1, type=TaskName())
@click.option("--diff", is_flag=True, help="What each made of every file, those that did the same together.")
@click.option(
    "--html", type=click.Path(dir_okay=False), metavar="FILE", help="Write one page that needs no other file."
)
@json_option
@store_option
def command(run: str, tasks: tuple[str, ...], diff: bool, html: str | None, as_json: bool, where: str | None) -> None:
    """Show what TASKS of RUN made, side by side: scores, files, lines, time, cost.

    Without TASKS all that compete with each other, and what they began with; of a plan, all that changed anything. The
    best is marked with *. Changes are against what the run began with.

    \b
    Example: budwood compare best-of --diff
    """
    if diff + as_json + (html is not None) > 1:
        raise UsageError("--diff, --html and --json exclude each other", hint="leave all but one out")
    with looking(where) as (_, store):
        desk = sit_down(store, find_run(store, run))
        compared = compare_run(desk, tasks)
        if as_json:
            write_json(_shape(desk, compared))
        elif not compared:
            note(f"{desk.row.name}: no attempt has left anything to compare yet")
        elif html is not None:
            _write_page(desk, compared, Path(html))
        elif diff:
            _write_files(desk, compared)
        else:
            write_table(_COLUMNS, [cells(each) for each in compared])
            _write_alone(compared)


def _shape(desk: Desk, compared: list[Compared]) -> dict[str, object]:
    touched: dict[str, list[object]] = {}
    for each in compared:
        for change in each.files:
            touched.setdefault(change.path, []).append(each.task)
    return {
        "run": desk.row.name,
        "base": desk.terms.base,
        "candidates": [msgspec.to_builtins(each) for each in compared],
        "files": dict(sorted(touched.items())),
    }


def _write_alone(compared: list[Compared]) -> None:
    """Say which files only one of them touched."""
    for each in compared:
        if each.only_here and len(compared) > 1:
            note(f"only {one_line(str(each.task))} touched {one_line(some(each.only_here))}")


def _write_files(desk: Desk, compared: list[Compared]) -> None:
    for path, variants in by_file(desk.git, desk.terms.base, compared).items():
        click.echo(bold(f"=== {one_line(path)}"))
        for variant in variants:
            click.echo(bold(f"--- by {one_line(', '.join(map(str, variant.tasks)))}"))
            write_patch(variant.patch.encode())


def _write_page(desk: Desk, compared: list[Compared], file: Path) -> None:
    from budwood.cli.page import comparison_page

    files = by_file(desk.git, desk.terms.base, compared)
    try:
        file.write_text(comparison_page(desk.row.name, compared, files), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{file} cannot be written: {error.strerror}") from None
    note(f"written: {file}")
