"""`budwood merge`: what was made goes into a branch of the user's."""

import click

from budwood._core.model import Review
from budwood.cli.arguments import run_argument
from budwood.cli.asking import Asked, ask, asked_of, refuse_unbegun, tell_answer
from budwood.cli.complete import LineName
from budwood.cli.looking import note, store_option
from budwood.errors import UsageError
from budwood.project.desk import Desk, sit_down
from budwood.project.line import Line, find_line
from budwood.review.checkouts import current_branch
from budwood.review.merging import Merger, Wanted, branch_head, found_in


@click.command("merge")
@run_argument(required=True)
@click.argument("line", type=LineName(), metavar="TASK|LANE")
@click.option(
    "--into", metavar="BRANCH", help="The branch that takes it; default: as the run says, else the one you stand on."
)
@click.option(
    "--squash/--no-squash", default=None, help="As one commit, without its history; default: as the run says."
)
@store_option
def command(run: str, line: str, into: str | None, squash: bool | None, where: str | None) -> int:
    """Merge what one task, or a lane, of RUN made into a branch of yours.

    What it stands on comes with it. Where the branch is checked out, your files move with it, and none that you have
    changed is overwritten; if that cannot be, the command to give later is told (exit code 4). A conflict changes
    nothing (exit code 5).

    \b
    Example: budwood merge night api --into main
    """
    with asked_of(run, store=where) as asked:
        refuse_unbegun(asked)
        desk = sit_down(asked.store, asked.row)
        desk.refuse_outside_git("merge into")
        found = find_line(desk, line)
        settings = desk.state.settings
        branch = into or settings.into or _here(desk)
        desk.refuse_ours(branch)
        there = found_in(desk.git, found.commit, branch_head(desk.repository, branch))
        if there is not None:
            note(f"{found.called} is merged into {branch} already: {there}")
        else:
            wanted = Wanted(
                commit=found.commit,
                called=f"{found.called} of run {desk.row.name}",
                message=f"Merge {found.called} of run {desk.row.name}\n\n{found.about}\n",
                squash=settings.merge == "squash" if squash is None else squash,
            )
            merged = Merger(desk.repository, desk.refs).merge(wanted, branch)
            files = "" if merged.checkout is None else f"; files in {merged.checkout} moved with it"
            note(f"merged {found.called} into {branch} ({merged.how}): {merged.commit[:12]}{files}")
        return _record(asked, found, branch)


def _here(desk: Desk) -> str:
    branch = current_branch(desk.repository)
    if branch is None:
        raise UsageError(
            f"{desk.repository.root} stands on no branch (detached HEAD)",
            hint="--into BRANCH names the one to merge into",
        )
    return branch


def _record(asked: Asked, line: Line, branch: str) -> int:
    new = [str(task.spec.id) for task in line.tasks if task.review is not Review.MERGED]
    if not new:
        return 0
    return tell_answer(asked, ask(asked, "merged", tasks=new, text=f"into {branch}"))
