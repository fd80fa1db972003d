"""Tables without boxes: aligned columns, readable without colour, cut to a terminal's width and whole in a pipe.

Knows text and widths. Must not know what the rows are about.
"""

import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import click

from budwood.cli.text import bold, cut, is_terminal, one_line, width

_GAP = "  "
_LEAST = 8
"""What a column keeps however narrow the terminal is."""


@dataclass(frozen=True, slots=True)
class Column:
    """A heading, and how its cells are shown."""

    name: str
    right: bool = False
    """Numbers stand at the right edge."""
    flexible: bool = False
    """Gives room when there is too little; the widest such column first."""
    tint: Callable[[str], str] | None = None


def write_table(columns: Sequence[Column], rows: Sequence[Sequence[object]], *, indent: str = "") -> None:
    """Write a table to standard output; columns that are empty in every row are left out."""
    room = terminal_width() - len(indent) if is_terminal() else None
    for line in table_lines(columns, rows, room=room):
        click.echo(indent + line)


def table_lines(columns: Sequence[Column], rows: Sequence[Sequence[object]], *, room: int | None) -> Iterator[str]:
    """Lay a table out in so many columns of a terminal; None is as wide as it gets."""
    cells = [[one_line(str(cell)) for cell in row] for row in rows]
    kept = [n for n, _ in enumerate(columns) if any(row[n] for row in cells)]
    columns = [columns[n] for n in kept]
    cells = [[row[n] for n in kept] for row in cells]
    widths = [max([width(column.name), *(width(row[n]) for row in cells)]) for n, column in enumerate(columns)]
    if room is not None:
        _shrink(widths, columns, room=room)
    yield bold(_line([column.name for column in columns], columns, widths, tinted=False))
    for row in cells:
        yield _line(row, columns, widths, tinted=True)


def terminal_width() -> int:
    """Return how many columns there are; 80 where nobody says."""
    return max(40, shutil.get_terminal_size().columns)


def _shrink(widths: list[int], columns: Sequence[Column], *, room: int) -> None:
    over = sum(widths) + len(_GAP) * (len(widths) - 1) - room
    flexible = [n for n, column in enumerate(columns) if column.flexible]
    while over > 0 and flexible:
        widest = max(flexible, key=lambda n: widths[n])
        if widths[widest] <= _LEAST:
            return
        others = [widths[n] for n in flexible if widths[n] < widths[widest]]
        step = min(over, widths[widest] - max([_LEAST, *others]), widths[widest] - _LEAST) or 1
        widths[widest] -= step
        over -= step


def _line(row: Sequence[str], columns: Sequence[Column], widths: Sequence[int], *, tinted: bool) -> str:
    shown = []
    for cell, column, room in zip(row, columns, widths, strict=True):
        text = cut(cell, room)
        padding = " " * (room - width(text))
        coloured = column.tint(text) if tinted and column.tint is not None else text
        shown.append(padding + coloured if column.right else coloured + padding)
    return _GAP.join(shown).rstrip()
