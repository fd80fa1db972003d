"""`budwood gc`: what lies around and nobody needs any more."""

from collections.abc import Callable
from contextlib import ExitStack

import click
from msgspec.structs import asdict

from budwood.cli.looking import json_option, note, store_option, write_json
from budwood.cli.tables import Column, write_table
from budwood.project.clearing import Clearing, ended_runs
from budwood.project.holders import HolderNames
from budwood.project.place import find_project
from budwood.project.words import size
from budwood.workspaces.gc import Left, Removable

_COLUMNS = (
    Column("WHAT", flexible=True),
    Column("SIZE", right=True),
    Column("WHERE", flexible=True),
    Column("HOW TO GET IT BACK", flexible=True),
)
_STAYS = (Column("STAYS", flexible=True), Column("BECAUSE", flexible=True))


@click.command("gc")
@click.option("--pinned", is_flag=True, help="Take in the directories that keep = true has kept as they were.")
@click.option("--apply", "really", is_flag=True, help="Remove it; otherwise it is only listed.")
@json_option
@store_option
def command(pinned: bool, really: bool, as_json: bool, where: str | None) -> None:
    """List what this project could do without, or remove it.

    Only what is kept elsewhere: workspaces that no attempt holds, directories of `budwood open` in which nobody has
    worked, and the many refs of a run that is over, for one that has them all. What stays is listed with the reason.

    \b
    Example: budwood gc --apply
    """
    project = find_project()
    resolved = project.resolve(flags={"store": where})
    with ExitStack() as opened:
        ended: list[str] = []
        named: Callable[[str], str] = str
        if project.has_store(resolved):
            store = opened.enter_context(project.open_store(resolved, create=False))
            ended, named = ended_runs(store), HolderNames(store)
        going, stays = Clearing(project, resolved, ended=ended, named=named).clear(pinned=pinned, really=really)
    if as_json:
        shapes = {"removable": [asdict(each) for each in going], "left": [asdict(each) for each in stays]}
        write_json({"applied": really, **shapes})
    else:
        _tell(going, stays, really=really)


def _tell(going: list[Removable], stays: list[Left], *, really: bool) -> None:
    if going:
        write_table(_COLUMNS, [[each.what, size(each.bytes), each.where, each.how_to_get_back] for each in going])
    if stays:
        if going:
            click.echo()
        write_table(_STAYS, [[each.where, each.why] for each in stays])
    total = size(sum(each.bytes for each in going))
    if not going:
        note("nothing to remove")
    elif really:
        note(f"removed: {total}")
    else:
        note(f"\nhint: budwood gc --apply removes it: {total}")
