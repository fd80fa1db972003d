"""Which lanes of a run would conflict with each other, as they stand.

Knows the desk and git. Must not write anything but objects.
"""

import click

from budwood._core.landing import members
from budwood.cli.looking import note, write_json
from budwood.cli.tables import Column, write_table
from budwood.project.desk import Desk
from budwood.project.words import counted, some
from budwood.workspaces.joining import conflicts_among

_CLASH, _CLEAN, _SELF = "X", ".", ""


def write_matrix(desk: Desk, *, as_json: bool) -> None:
    """Write the matrix of all lines that have come to something, then the files of every pair that conflicts."""
    heads = {line: desk.state.heads[line] for line in members(desk.state) if line in desk.state.heads}
    found = conflicts_among(desk.git, heads)
    if as_json:
        clashes = [{"lines": [a, b], "files": files} for (a, b), files in found.items()]
        write_json({"run": desk.row.name, "lines": list(heads), "conflicts": clashes})
        return
    lines = list(heads)
    columns = (Column("", right=True), Column("LINE", flexible=True), *(Column(str(n + 1)) for n in range(len(lines))))
    write_table(columns, [[row + 1, line, *(_cell(found, line, b) for b in lines)] for row, line in enumerate(lines)])
    for (a, b), files in found.items():
        click.echo(f"{a} and {b}: {some(files)}")
    pairs = len(lines) * (len(lines) - 1) // 2
    note(f"{counted(len(found), 'conflict')} in {counted(pairs, 'pair')}")


def _cell(found: dict[tuple[str, str], tuple[str, ...]], a: str, b: str) -> str:
    if a == b:
        return _SELF
    return _CLASH if (a, b) in found or (b, a) in found else _CLEAN
