"""`budwood pause`: nothing new starts."""

import click

from budwood.cli.arguments import run_argument
from budwood.cli.asking import ask, asked_of, refuse_ended, refuse_unbegun, tell_answer
from budwood.cli.looking import store_option


@click.command()
@run_argument(required=True)
@store_option
def command(run: str, where: str | None) -> int:
    """Let nothing new start in RUN; what runs may finish.

    Works whether or not somebody drives it. `budwood resume` goes on.

    \b
    Example: budwood pause last
    """
    with asked_of(run, store=where) as asked:
        refuse_unbegun(asked)
        refuse_ended(asked)
        return tell_answer(asked, ask(asked, "pause"))
