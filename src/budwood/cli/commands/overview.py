"""Bare `budwood`: what needs you, what runs, what ended; with nothing there, how to begin."""

import click

from budwood._core.model import ENDED_RUN, RunPhase
from budwood._core.rows import RunRow
from budwood.cli.commands.ls import write_runs
from budwood.cli.text import bold, one_line
from budwood.cli.verdict import more_flag
from budwood.project.find import NOT_BEGUN, begin_command
from budwood.project.place import find_project

_ENDED = 5
_BEGIN = """\
No runs here yet.

  budwood init       write a plan to begin with
  budwood run FILE   run the tasks of a plan
  budwood demo       watch a run being killed and resumed

budwood --help lists all commands."""


def show_overview() -> None:
    """Show what is worth knowing, most urgent first."""
    project = find_project()
    resolved = project.resolve(flags={})
    if not project.has_store(resolved):
        click.echo(_BEGIN)
        return
    with project.open_store(resolved, create=False) as store:
        rows = store.runs()
        moved = {row.id: place for row in rows if (place := store.moved_to(row.id)) is not None}
        drivers = {row.id: None if row.phase in ENDED_RUN else store.holder(row.id) for row in rows}
    if not rows:
        click.echo(_BEGIN)
        return
    needs = [row for row in rows if _needs_you(row, drivers[row.id]) and row.id not in moved]
    runs = [row for row in rows if row.phase not in ENDED_RUN and row not in needs and row.id not in moved]
    ended = [row for row in rows if row.phase in ENDED_RUN and row.id not in moved][-_ENDED:]
    _write_needs(needs, drivers)
    for title, some in (("Runs", runs), ("Ended", ended)):
        if some:
            click.echo(bold(title))
            write_runs(some, drivers, indent="  ")
            click.echo()
    for row in rows:
        if row.id in moved:
            click.echo(f"{row.name} was moved to {one_line(moved[row.id])}")
    click.echo(f"budwood status {rows[-1].name} shows one run; budwood --help lists all commands.")


def _needs_you(row: RunRow, driver: str | None) -> bool:
    return row.phase not in ENDED_RUN and (driver is None or row.phase is RunPhase.PAUSED)


def _write_needs(needs: list[RunRow], drivers: dict[str, str | None]) -> None:
    if not needs:
        return
    click.echo(bold("Needs you"))
    write_runs(needs, drivers, indent="  ")
    for row in needs:
        click.echo(f"  {row.name}: {_need(row)}")
    click.echo()


def _need(row: RunRow) -> str:
    if row.last_event == 0:
        return f"{NOT_BEGUN}; {begin_command(row)}"
    if row.phase is not RunPhase.PAUSED:
        return f"nobody drives it; budwood resume {row.name}"
    more = f" {more_flag(row.reason)}" if row.reason.startswith("budget spent") else ""
    return f"paused: {one_line(row.reason)}; budwood resume {row.name}{more}"
