"""`budwood gc`: directories that nobody needs any more."""

import click
import msgspec

from budwood.cli.looking import json_option, note, write_json
from budwood.cli.tables import Column, write_table
from budwood.project.clearing import Clearing
from budwood.project.place import find_project
from budwood.project.words import size
from budwood.review.garbage import Found

_COLUMNS = (
    Column("WHAT"),
    Column("SIZE", right=True),
    Column("WHERE", flexible=True),
    Column("STAYS BECAUSE", flexible=True),
    Column("HOW TO GET IT BACK", flexible=True),
)


@click.command("gc")
@click.option("--apply", "really", is_flag=True, help="Remove them; otherwise they are only listed.")
@json_option
def command(really: bool, as_json: bool) -> None:
    """List directories of this project that could be removed, or remove them.

    Only what is kept elsewhere: workspaces that no attempt holds, and directories of `budwood open` in which nobody has
    worked. What stays is listed with the reason. Refs, and so everything that attempts left, are never removed.

    \b
    Example: budwood gc --apply
    """
    project = find_project()
    clearing = Clearing(project, project.resolve(flags={}))
    found = [_removed(clearing, each) if really and not each.stays else each for each in clearing.look()]
    going = [each for each in found if not each.stays]
    if as_json:
        write_json({"applied": really, "directories": [_shape(each) for each in found]})
        return
    if found:
        write_table(_COLUMNS, [[each.what, size(each.bytes), each.where, each.stays, each.back] for each in found])
    noun = "directory" if len(going) == 1 else "directories"
    total = f"{len(going)} {noun}, {size(sum(each.bytes for each in going))}"
    if really:
        note(f"removed {total}")
    elif going:
        note(f"could be removed: {total}\n\nhint: budwood gc --apply removes them")
    else:
        note("nothing to remove")


def _removed(clearing: Clearing, found: Found) -> Found:
    why = clearing.remove(found)
    return msgspec.structs.replace(found, stays=why) if why else found


def _shape(found: Found) -> dict[str, object]:
    return {
        "what": found.what,
        "where": str(found.where),
        "bytes": found.bytes,
        "stays": found.stays or None,
        "back": found.back or None,
    }
