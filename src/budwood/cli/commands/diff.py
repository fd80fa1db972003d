"""`budwood diff`: what an attempt made."""

import click
from msgspec.structs import asdict

from budwood.cli.arguments import candidate_argument, run_argument
from budwood.cli.differences import write_difference
from budwood.cli.looking import json_option, looking, note, store_option, write_json
from budwood.errors import UsageError
from budwood.project.desk import sit_down
from budwood.project.find import find_run
from budwood.review.changes import Form, changes


@click.command("diff")
@run_argument(required=True)
@candidate_argument()
@candidate_argument("other", required=False)
@click.option("--stat", is_flag=True, help="How many lines of which files.")
@click.option("--name-only", is_flag=True, help="The names of the files alone.")
@json_option
@store_option
def command(
    run: str, candidate: str, other: str | None, stat: bool, name_only: bool, as_json: bool, where: str | None
) -> None:
    """Show what a task of RUN changed, or how two candidates differ.

    Against what its attempt began with, or the first of those that went on with one another's work; where a search
    merged candidates, against what those share. With two, from the first to the second: night form.1 form.2 is what
    the second attempt made of the first's. TASK is what the task has come to, TASK.N what its attempt N left.

    \b
    Example: budwood diff night form --stat
    """
    if stat + name_only + as_json > 1:
        raise UsageError("--stat, --name-only and --json exclude each other", hint="leave all but one out")
    with looking(where) as (_, store):
        desk = sit_down(store, find_run(store, run))
        found = desk.find(candidate)
        second = None if other is None else desk.find(other)
        older, newer = (desk.base_of(found), found) if second is None else (found.left.candidate, second)
        if as_json:
            write_json(
                {
                    "run": desk.row.name,
                    "task": newer.task.spec.id,
                    "attempt": newer.attempt,
                    "older": older,
                    "newer": newer.left.candidate,
                    "files": [asdict(each) for each in changes(desk.git, older, newer.left.candidate)],
                }
            )
            return
        form: Form = "stat" if stat else "names" if name_only else "patch"
        if not write_difference(desk.git, older, newer.left.candidate, form=form):
            note(f"{found.name} changed nothing" if second is None else f"{found.name} and {second.name} are the same")
