"""`budwood lanes`: lines of history, and how far each has come."""

import click
from msgspec.structs import asdict

from budwood.cli.arguments import run_argument
from budwood.cli.looking import json_option, looking, store_option, write_json
from budwood.cli.tables import Column, write_table
from budwood.cli.text import tinted
from budwood.project.desk import sit_down
from budwood.project.find import find_run
from budwood.project.words import money
from budwood.review.lanes import Lane, look_at_lanes

_COLUMNS = (
    Column("LANE", flexible=True),
    Column("STATE", tint=tinted),
    Column("DONE", right=True),
    Column("FILES", right=True),
    Column("COST", right=True),
    Column("HEAD"),
    Column("BRANCH", flexible=True),
)


@click.command("lanes")
@run_argument(required=False)
@json_option
@store_option
def command(run: str, as_json: bool, where: str | None) -> None:
    """Show the lanes of a run: how far each has come, and its branch.

    A task without a lane is a lane of its own.

    \b
    Example: budwood lanes night
    """
    with looking(where) as (_, store):
        desk = sit_down(store, find_run(store, run))
        lanes = list(look_at_lanes(desk.state, desk.git, branch_of=desk.branch_of))
        if as_json:
            write_json({"run": desk.row.name, "lanes": [_shape(lane) for lane in lanes]})
        else:
            write_table(_COLUMNS, [_cells(lane) for lane in lanes])


def _shape(lane: Lane) -> dict[str, object]:
    shape = asdict(lane)
    return {"state" if name == "phase" else name: value for name, value in shape.items()}


def _cells(lane: Lane) -> list[object]:
    return [
        lane.lane,
        lane.phase.value,
        f"{lane.done}/{lane.tasks}",
        lane.files,
        money(lane.cost_usd, guessed=lane.untold) if lane.cost_usd else "",
        (lane.head or "")[:12],
        lane.branch or "",
    ]
