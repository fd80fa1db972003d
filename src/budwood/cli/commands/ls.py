"""`budwood ls`: the runs of this project."""

import click

from budwood._core.model import ENDED_RUN
from budwood._core.rows import RunRow
from budwood.cli.looking import json_option, looking, note, now_ms, store_option, write_json
from budwood.cli.shapes import run_shape
from budwood.cli.tables import Column, write_table
from budwood.cli.text import tinted
from budwood.project.costs import guessed_usd
from budwood.project.find import listed
from budwood.project.times import ago
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
        guessed = {} if as_json else guesses(store, rows)
    if as_json:
        write_json({"runs": [run_shape(row, driver=drivers[row.id]) for row in rows]})
        return
    if not rows:
        note("no runs yet\n\nhint: budwood run FILE starts one")
        return
    write_runs(rows, drivers, guessed)
    if len(rows) < len(known):
        note(f"{len(known) - len(rows)} older; budwood ls --all lists them")


def guesses(store: Store, rows: list[RunRow]) -> dict[str, float]:
    """Return how much of what runs cost is only guessed, of those that cost something."""
    return {row.id: guessed_usd(row.cost_usd, store.attempts(row.id)) for row in rows if row.cost_usd}


def write_runs(
    rows: list[RunRow], drivers: dict[str, str | None], guessed: dict[str, float], *, indent: str = ""
) -> None:
    """Write runs as a table."""
    now = now_ms()
    cells = [_cells(row, drivers[row.id], now, guessed=guessed.get(row.id, 0.0)) for row in rows]
    write_table(_COLUMNS, cells, indent=indent)


def _cells(row: RunRow, driver: str | None, now: int, *, guessed: float) -> list[object]:
    return [
        row.name,
        row.phase.value,
        f"{row.done}/{row.tasks}",
        row.failed or "",
        row.attempts,
        money(row.cost_usd, guessed=guessed) if row.cost_usd else "",
        ago(row.created_at_ms, now),
        "" if row.phase in ENDED_RUN else driver or "none",
    ]
