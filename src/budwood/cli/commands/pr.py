"""`budwood pr`: what was made, as a pull request."""

import click

from budwood.cli.arguments import run_argument
from budwood.cli.complete import LineName
from budwood.cli.looking import looking, note, store_option
from budwood.engine.verdict import Exit
from budwood.project.desk import sit_down
from budwood.project.find import find_run
from budwood.project.line import find_line
from budwood.review.pull_request import PullRequest, find_remote, open_request


@click.command("pr")
@run_argument(required=True)
@click.argument("line", type=LineName(), metavar="TASK|LANE")
@click.option("--into", metavar="BRANCH", help="The branch that is to take it, if not the remote's own choice.")
@click.option("--remote", metavar="NAME", help="Where to push; default: origin, or the only one.")
@click.option("--title", metavar="TEXT", help="Its title; default: the task or lane, and the run.")
@click.option("--draft", is_flag=True, help="Open it as a draft.")
@store_option
def command(
    run: str, line: str, into: str | None, remote: str | None, title: str | None, draft: bool, where: str | None
) -> int:
    """Push what one task, or a lane, of RUN made, and open a pull request.

    Both by your own git and gh, with your settings and hooks. Without gh nothing is done: the two commands are
    written, and the exit code is 4.

    \b
    Example: budwood pr night api --into main
    """
    with looking(where) as (project, store):
        desk = sit_down(store, find_run(store, run))
        desk.refuse_outside_git("push")
        found = find_line(desk, line)
        request = PullRequest(
            commit=found.commit,
            branch=found.branch,
            remote=find_remote(desk.repository, remote),
            into=into,
            title=title or f"{found.called} of run {desk.row.name}",
            body=found.about,
            draft=draft,
        )
        address = open_request(request, desk.repository.root, project.environ)
    if address is None:
        for words in request.commands:
            click.echo(words)
        note("there is no gh on the PATH: nothing was pushed; these two do it")
        return Exit.WAITS
    click.echo(address)
    return 0
