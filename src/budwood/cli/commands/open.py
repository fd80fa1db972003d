"""`budwood open`: a directory with everything that an attempt left."""

import shlex

import click

from budwood.cli.arguments import candidate_argument, run_argument
from budwood.cli.looking import looking, note, store_option
from budwood.project.desk import opened_folder, opened_name, sit_down
from budwood.project.find import find_run
from budwood.project.words import some
from budwood.review.opened import Opened, hand_out


@click.command("open")
@run_argument(required=True)
@candidate_argument()
@store_option
def command(run: str, candidate: str, where: str | None) -> None:
    """Put everything that an attempt left into a new directory, byte for byte.

    Ignored files included. Prints its path, which is outside of your repository; `budwood gc` removes it again if you
    have changed nothing there.

    \b
    Example: budwood open night form
    """
    with looking(where) as (_, store):
        desk = sit_down(store, find_run(store, run))
        found = desk.find(candidate)
        pool = desk.pool()
        opened = Opened(
            again=f"budwood open {shlex.join([desk.row.name, found.name])}", repository=str(desk.repository.common)
        )
        place = hand_out(
            opened_folder(), opened_name(desk, found), opened, fill=lambda into: pool.restore(found.left.commit, into)
        )
        click.echo(str(place))
        if found.left.not_kept:
            note(f"not in it, because it could not be kept: {some(found.left.not_kept)}")
