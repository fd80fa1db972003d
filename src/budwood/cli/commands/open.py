"""`budwood open`: a directory with everything that an attempt left, or the one where a conflict is to be solved."""

import shlex

import click

from budwood._core.ids import safe_name
from budwood.cli.arguments import run_argument
from budwood.cli.complete import LineName
from budwood.cli.looking import looking, note, store_option
from budwood.project.desk import Desk, opened_folder, opened_name, sit_down
from budwood.project.find import find_run
from budwood.project.words import some
from budwood.review.opened import Opened, hand_out


@click.command("open")
@run_argument(required=True)
@click.argument("what", type=LineName(), metavar="TASK[.N]|LANE")
@store_option
def command(run: str, what: str, where: str | None) -> None:
    """Put everything that an attempt left into a new directory, or show where a conflict is.

    Byte for byte, ignored files included. Prints its path, which is outside of your repository; `budwood gc` removes it
    again if you have changed nothing there. Of a lane that could not be merged it prints the directory with the
    conflicts: solve them there, commit, and `budwood resume RUN`. Of any other lane it gives what was accepted in it
    last.

    \b
    Example: budwood open night form
    """
    with looking(where) as (_, store):
        desk = sit_down(store, find_run(store, run))
        for line in (f"lane {what}", f"task {what}"):
            conflict = desk.state.landing.conflicts.get(line)
            if conflict is not None:
                click.echo(conflict.path)
                note(f"in conflict: {some(conflict.files)}; solve it, commit, then budwood resume {desk.row.name}")
                return
        head = desk.state.heads.get(f"lane {what}")
        if what not in desk.state.by_id and head is not None:
            _open(desk, what, name=f"{desk.row.name}-lane-{safe_name(what)}", commit=head)
            return
        found = desk.find(what)
        _open(desk, found.name, name=opened_name(desk, found), commit=found.left.commit)
        if found.left.not_kept:
            note(f"not in it, because it could not be kept: {some(found.left.not_kept)}")


def _open(desk: Desk, what: str, *, name: str, commit: str) -> None:
    pool = desk.pool()
    again = f"budwood open {shlex.join([desk.row.name, what])}"
    opened = Opened(again=again, repository=str(desk.repository.common))
    click.echo(str(hand_out(opened_folder(), name, opened, fill=lambda into: pool.restore(commit, into))))
