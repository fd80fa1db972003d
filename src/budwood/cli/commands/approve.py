"""`budwood approve`: somebody has looked, and it is good."""

import click

from budwood.cli.arguments import run_argument
from budwood.cli.asking import ask, asked_of, refuse_unbegun, tell_answer
from budwood.cli.complete import TaskName
from budwood.cli.looking import store_option


@click.command()
@run_argument(required=True)
@click.argument("tasks", nargs=-1, required=True, type=TaskName())
@store_option
def command(run: str, tasks: tuple[str, ...], where: str | None) -> int:
    """Approve what TASKS of RUN made. Nothing is merged by that alone.

    \b
    Example: budwood approve night models form
    """
    with asked_of(run, store=where) as asked:
        refuse_unbegun(asked)
        return tell_answer(asked, ask(asked, "approve", tasks=tasks))
