"""`budwood revise`: more is wanted of what a task made."""

import click

from budwood.cli.arguments import run_argument
from budwood.cli.asking import ask, asked_of, refuse_unbegun, tell_answer
from budwood.cli.complete import TaskName
from budwood.cli.drive import Manner
from budwood.cli.going_on import go_on
from budwood.cli.launch import refuse_unheard
from budwood.cli.options import drive_options


@click.command()
@run_argument(required=True)
@click.argument("task", type=TaskName())
@click.argument("text")
@drive_options
def command(
    run: str, task: str, text: str, detach: bool, jsonl: bool, quiet: bool, notify: str | None, store: str | None
) -> int:
    """Send TASK of RUN back to its agent, with TEXT that says what is wanted.

    A new attempt goes on with the files that the newest left, and with what the agent remembers where it can. If
    nobody drives the run, this command does.

    \b
    Example: budwood revise night form "Use the date picker that we have."
    """
    refuse_unheard(detach=detach, jsonl=jsonl)
    with asked_of(run, store=store, notify=notify) as asked:
        refuse_unbegun(asked)
        driven = asked.store.holder(asked.row.id) is not None
        code = tell_answer(asked, ask(asked, "revise", tasks=(task,), text=text), quiet=quiet)
        if code or (driven and asked.store.holder(asked.row.id) is not None):
            return code
        manner = Manner(quiet=quiet, jsonl=jsonl, notify=asked.resolved.text("notify"))
        return go_on(asked, manner, changes={}, detach=detach)
