"""Writes a difference to standard output: safe for a terminal, and byte for byte into a pipe.

Knows how commits are compared; must not know runs.
"""

import sys

import click

from budwood.cli.text import has_colour, is_terminal, visible
from budwood.review.changes import Form, write_out
from budwood.workspaces.git import Git


def write_difference(git: Git, older: str, newer: str, *, form: Form = "patch") -> bool:
    """Write how two commits differ; return whether they do."""
    colour = has_colour() and form != "names"
    patch = write_out(git, older, newer, form=form, colour=colour)
    write_patch(patch, colour=colour)
    return bool(patch)


def write_beginning(git: Git, older: str, newer: str, *, most: int) -> int:
    """Write the first lines of how two commits differ; return how many more there are."""
    colour = has_colour()
    lines = write_out(git, older, newer, form="patch", colour=colour).splitlines(keepends=True)
    write_patch(b"".join(lines[:most]), colour=colour)
    return max(0, len(lines) - most)


def write_patch(patch: bytes, *, colour: bool = False) -> None:
    """Write a difference that is there."""
    if is_terminal():
        click.echo(visible(patch.decode(errors="backslashreplace"), colour=colour), nl=False)
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(patch)
        sys.stdout.buffer.flush()
