"""`budwood cancel`: attempts are ended and tasks given up."""

import click

from budwood.cli.arguments import run_argument
from budwood.cli.asking import ask, asked_of, cancel_alone, refuse_ended, refuse_unbegun, tell_answer
from budwood.cli.complete import TaskName
from budwood.cli.looking import store_option


@click.command()
@run_argument(required=True)
@click.argument("tasks", nargs=-1, type=TaskName())
@store_option
def command(run: str, tasks: tuple[str, ...], where: str | None) -> int:
    """Give RUN up, or only some TASKS of it, and end what runs of that.

    What depends on a cancelled task is skipped. Everything that was done is kept; `budwood retry` takes it up again.

    \b
    Example: budwood cancel night deploy
    """
    with asked_of(run, store=where) as asked:
        refuse_unbegun(asked)
        refuse_ended(asked)
        request = ask(asked, "cancel", tasks=tasks, alone=lambda request: cancel_alone(asked, request, whole=not tasks))
        return tell_answer(asked, request)
