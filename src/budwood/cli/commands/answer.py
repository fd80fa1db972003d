"""`budwood answer`: an attempt has asked something, and somebody knows."""

import click
import msgspec

from budwood.cli.arguments import run_argument
from budwood.cli.asking import ask, asked_of, refuse_ended, refuse_unbegun, tell_answer
from budwood.cli.complete import TaskName
from budwood.cli.looking import store_option
from budwood.engine.wanted import Answering
from budwood.project.find import find_task


@click.command()
@run_argument(required=True)
@click.argument("task", type=TaskName())
@click.argument("text")
@store_option
def command(run: str, task: str, text: str, where: str | None) -> int:
    """Answer what the agent at TASK of RUN asks, with TEXT.

    It waits for that, and goes on when it has read it. Also while nobody drives the run: agents go on without.

    \b
    Example: budwood answer night form "Use the blue one."
    """
    with asked_of(run, store=where) as asked:
        refuse_unbegun(asked)
        refuse_ended(asked)
        meant = find_task(asked.store, asked.row, task).id
        body = msgspec.json.encode(Answering(task=meant, text=text)).decode()
        return tell_answer(asked, ask(asked, "answer", body=body))
