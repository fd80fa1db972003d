"""`budwood branch`: a branch at what an attempt made."""

import click

from budwood.cli.arguments import candidate_argument, run_argument
from budwood.cli.looking import looking, note, store_option
from budwood.project.desk import sit_down
from budwood.project.find import find_run
from budwood.review.branches import make_branch


@click.command("branch")
@run_argument(required=True)
@candidate_argument()
@click.argument("name")
@store_option
def command(run: str, candidate: str, name: str, where: str | None) -> None:
    """Make a branch NAME at what a task of RUN made; one that is there is left as it is.

    The branch is yours: budwood never moves it.

    \b
    Example: budwood branch night form.1 first-try
    """
    with looking(where) as (_, store):
        desk = sit_down(store, find_run(store, run))
        desk.refuse_outside_git("make")
        found = desk.find(candidate)
        make_branch(desk.repository, name, found.left.candidate)
        note(f"branch {name} is at what {found.name} made: {found.left.candidate[:12]}")
