"""`budwood apply`: what an attempt made, written into the user's checkout."""

import os
from tempfile import TemporaryDirectory

import click

from budwood.cli.arguments import candidate_argument, run_argument
from budwood.cli.looking import looking, note, store_option
from budwood.project.desk import sit_down
from budwood.project.find import find_run
from budwood.project.words import counted
from budwood.review.applying import apply


@click.command("apply")
@run_argument(required=True)
@candidate_argument()
@store_option
def command(run: str, candidate: str, where: str | None) -> None:
    """Write the files that a task of RUN changed into your checkout.

    Only its own changes, not what it stands on. If you have changed one of the files since it was begun, it is named
    and nothing is written (exit code 4). Your index, branch and history stay as they are.

    \b
    Example: budwood apply night form
    """
    with looking(where) as (_, store):
        desk = sit_down(store, find_run(store, run))
        found = desk.find(candidate)
        with TemporaryDirectory() as scratch:
            done = apply(desk.repository, desk.base_of(found), found.left.candidate, folder=scratch)
        for path in (*done.written, *done.deleted):
            click.echo(os.fsencode(path))
        parts = [f"{counted(len(done.written), 'file')} written"]
        parts += [f"{counted(len(done.deleted), 'file')} deleted"] if done.deleted else []
        parts += [f"{counted(len(done.there), 'file')} as it made them already"] if done.there else []
        note(f"{found.name}: {', '.join(parts)} in {desk.repository.root}")
