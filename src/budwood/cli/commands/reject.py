"""`budwood reject`: somebody has looked, and it is not wanted."""

import click

from budwood.cli.arguments import run_argument
from budwood.cli.asking import ask, asked_of, refuse_unbegun, tell_answer
from budwood.cli.complete import TaskName
from budwood.cli.looking import store_option


@click.command()
@run_argument(required=True)
@click.argument("tasks", nargs=-1, required=True, type=TaskName())
@click.option("--reason", default="", metavar="TEXT", help="Why; it is recorded with the decision.")
@store_option
def command(run: str, tasks: tuple[str, ...], reason: str, where: str | None) -> int:
    """Reject what TASKS of RUN made. It is kept, and not merged.

    \b
    Example: budwood reject night form --reason "it breaks the API"
    """
    with asked_of(run, store=where) as asked:
        refuse_unbegun(asked)
        return tell_answer(asked, ask(asked, "reject", tasks=tasks, text=reason))
