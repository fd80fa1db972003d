"""`budwood ls`: the runs of this project."""

from collections.abc import Iterable

import click

from budwood._core.model import ENDED_RUN
from budwood._core.rows import RunRow
from budwood.cli.looking import json_option, looking, note, now_ms, store_option, write_json
from budwood.cli.shapes import run_shape
from budwood.cli.tables import Column, write_table
from budwood.cli.text import tinted
from budwood.project.find import listed
from budwood.project.times import ago
from budwood.project.untold import untold_of
from budwood.project.words import money
from budwood.stores import Store

_SHOWN = 20
_COLUMNS = (
    Column("RUN", flexible=True),
    Column("STATE", tint=tinted),
    Column("DONE", right=True),
    Column("FAILED", right=True),
    Column("ATTEMPTS", right=True),
    Column("COST", right=True),
    Column("CREATED", right=True),
    Column("DRIVER", flexible=True),
)


@click.command("ls")
@click.option("--all", "everything", is_flag=True, help=f"List all runs, not only the newest {_SHOWN}.")
@json_option
@store_option
def command(everything: bool, as_json: bool, where: str | None) -> None:
    """List the runs, newest last.

    \b
    Example: budwood ls
    """
    with looking(where) as (_, store):
        known = listed(store)
        rows = known if everything or as_json else known[-_SHOWN:]
        drivers = {row.id: None if row.phase in ENDED_RUN else store.holder(row.id) for row in rows}
        unknown = {} if as_json else silent(store, rows)
    if as_json:
        write_json({"runs": [run_shape(row, driver=drivers[row.id]) for row in rows]})
        return
    if not rows:
        note("no runs yet\n\nhint: budwood run FILE starts one")
        return
    write_runs(rows, drivers, unknown)
    if len(rows) < len(known):
        note(f"{len(known) - len(rows)} older; budwood ls --all lists them")


def silent(store: Store, rows: Iterable[RunRow]) -> dict[str, int]:
    """Count by run the attempts that did not say what they cost, of those runs that cost something."""
    return {row.id: untold_of(store, row).total() for row in rows}


def write_runs(
    rows: list[RunRow], drivers: dict[str, str | None], unknown: dict[str, int], *, indent: str = ""
) -> None:
    """Write runs as a table."""
    now = now_ms()
    cells = [_cells(row, drivers[row.id], now, unknown=unknown.get(row.id, 0)) for row in rows]
    write_table(_COLUMNS, cells, indent=indent)


def _cells(row: RunRow, driver: str | None, now: int, *, unknown: int) -> list[object]:
    return [
        row.name,
        row.phase.value,
        f"{row.done}/{row.tasks}",
        row.failed or "",
        row.attempts,
        money(row.cost_usd, guessed=unknown) if row.cost_usd else "",
        ago(row.created_at_ms, now),
        "" if row.phase in ENDED_RUN else driver or "none",
    ]
