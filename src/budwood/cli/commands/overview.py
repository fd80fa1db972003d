"""Bare `budwood`: what needs you, what runs, what ended; with nothing there, how to begin."""

import click

from budwood._core.events import RunCreated
from budwood._core.model import ENDED_RUN, PLAN, AttemptPhase, RunPhase
from budwood._core.rows import RunRow
from budwood._core.state import RunState
from budwood.cli.commands.ls import silent, write_runs
from budwood.cli.looking import read_state
from budwood.cli.standing import answer_command, open_command
from budwood.cli.text import bold, one_line
from budwood.cli.verdict import more_flag
from budwood.project.find import NOT_BEGUN, begin_command, listed
from budwood.project.place import find_project
from budwood.project.strategy import created_of
from budwood.project.words import counted, some
from budwood.review.undecided import undecided
from budwood.stores import Store
from budwood.strategies.progress import search_progress

_ENDED = 5
_LOOKED_AT = 20
"""So many of the newest runs that are over may have conflicts that are shown."""
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
        rows = listed(store)
        moved = {row.id: place for row in rows if (place := store.moved_to(row.id)) is not None}
        drivers = {row.id: None if row.phase in ENDED_RUN else store.holder(row.id) for row in rows}
        asking = {row.id: found for row in rows if row.id not in moved and (found := _questions(store, row))}
        searching = {row.id: said for row in rows if row.id not in moved and (said := _search(store, row))}
        over = [row for row in rows if row.phase is RunPhase.FINISHED and row.id not in moved][-_LOOKED_AT:]
        states = {row.id: state for row in over if (state := _with_workspaces(store, row)) is not None}
        asking |= {row.id: found for row in over if row.id in states and (found := _unmerged(states[row.id]))}
        remarks = searching | {name: said for name, state in states.items() if (said := _undecided(state))}
        recent = [row for row in rows if row.phase in ENDED_RUN][-_LOOKED_AT:]
        unknown = silent(store, (row for row in rows if row.phase not in ENDED_RUN or row in recent or row in over))
    if not rows:
        click.echo(_BEGIN)
        return
    needs = [row for row in rows if (row.id in asking or _needs_you(row, drivers[row.id])) and row.id not in moved]
    runs = [row for row in rows if row.phase not in ENDED_RUN and row not in needs and row.id not in moved]
    ended = [row for row in rows if row.phase in ENDED_RUN and row not in needs and row.id not in moved][-_ENDED:]
    _write_needs(needs, drivers, unknown, asking, remarks)
    for title, some_rows in (("Runs", runs), ("Ended", ended)):
        if some_rows:
            click.echo(bold(title))
            write_runs(some_rows, drivers, unknown, indent="  ")
            _write_remarks(some_rows, remarks)
            click.echo()
    for row in rows:
        if row.id in moved:
            click.echo(f"{row.name} was moved to {one_line(moved[row.id])}")
    click.echo(f"budwood status {rows[-1].name} shows one run; budwood --help lists all commands.")


def _needs_you(row: RunRow, driver: str | None) -> bool:
    return row.phase not in ENDED_RUN and (driver is None or row.phase is RunPhase.PAUSED)


def _questions(store: Store, row: RunRow) -> list[str]:
    """Write what the attempts of a run ask, and how each is answered."""
    if row.phase in ENDED_RUN or not row.active:
        return []
    if not any(attempt.phase is AttemptPhase.NEEDS_INPUT for attempt in store.attempts(row.id)):
        return []
    asking = [(task, task.attempt.asks) for task in read_state(store, row).open.values() if task.attempt is not None]
    return [
        f"{one_line(str(task.spec.id))} asks: {one_line(asks.text)}; {answer_command(row.name, task.spec.id)}"
        for task, asks in asking
        if asks is not None
    ]


def _search(store: Store, row: RunRow) -> str:
    """Write how far a search has come that is not over; of a plan, which may be large, nothing is read."""
    created = None if row.phase in ENDED_RUN else created_of(store, row.id)
    if created is None or created.strategy == PLAN:
        return ""
    found = search_progress(read_state(store, row))
    return "" if found is None else one_line(found.words)


def _with_workspaces(store: Store, row: RunRow) -> RunState | None:
    """Read a run whose attempts had workspaces; of others nothing is merged, and they may be large."""
    first = next(store.read(row.id), None)
    if first is None or not isinstance(first.event, RunCreated) or first.event.settings.workspace is None:
        return None
    return read_state(store, row)


def _unmerged(state: RunState) -> list[str]:
    """Write which lanes of a run that is over are in conflict or broken, and how to see that."""
    return [
        f"{one_line(line)} is in conflict: {one_line(some(conflict.files))}; {open_command(state.name, line)}"
        for line, conflict in state.landing.conflicts.items()
    ] + [f"{one_line(line)} is broken; budwood why {state.name}" for line in state.landing.held]


def _undecided(state: RunState) -> str:
    """Write how much of a plan waits to be decided about; of a search, one was chosen, and the rest is past."""
    number = len(list(undecided(state))) if state.strategy == PLAN else 0
    return f"{counted(number, 'task')} to decide about; budwood review {state.name}" if number else ""


def _write_remarks(rows: list[RunRow], remarks: dict[str, str]) -> None:
    for row in rows:
        if row.id in remarks:
            click.echo(f"  {row.name}: {remarks[row.id]}")


def _write_needs(
    needs: list[RunRow],
    drivers: dict[str, str | None],
    unknown: dict[str, int],
    asking: dict[str, list[str]],
    remarks: dict[str, str],
) -> None:
    if not needs:
        return
    click.echo(bold("Needs you"))
    write_runs(needs, drivers, unknown, indent="  ")
    _write_remarks(needs, remarks)
    for row in needs:
        if _needs_you(row, drivers[row.id]):
            click.echo(f"  {row.name}: {_need(row)}")
        for question in asking.get(row.id, ()):
            click.echo(f"  {row.name}: {question}")
    click.echo()


def _need(row: RunRow) -> str:
    if row.last_event == 0:
        return f"{NOT_BEGUN}; {begin_command(row)}"
    if row.phase is not RunPhase.PAUSED:
        return f"nobody drives it; budwood resume {row.name}"
    more = f" {more_flag(row.reason)}" if row.reason.startswith("budget spent") else ""
    return f"paused: {one_line(row.reason)}; budwood resume {row.name}{more}"
