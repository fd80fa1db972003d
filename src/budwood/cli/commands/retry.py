"""`budwood retry`: what did not succeed is wanted again."""

import click

from budwood._core.replay import fold
from budwood.cli.arguments import run_argument
from budwood.cli.asking import ask, asked_of, refuse_unbegun, tell_answer
from budwood.cli.complete import TaskName
from budwood.cli.drive import Manner
from budwood.cli.going_on import go_on
from budwood.cli.launch import refuse_unheard
from budwood.cli.options import changed_fields, drive_options, python_option
from budwood.project.place import project_of
from budwood.project.resuming import refuse_uncallable


@click.command()
@run_argument(required=True)
@click.argument("tasks", nargs=-1, type=TaskName())
@python_option
@drive_options
def command(
    run: str,
    tasks: tuple[str, ...],
    python: str | None,
    detach: bool,
    jsonl: bool,
    quiet: bool,
    notify: str | None,
    store: str | None,
) -> int:
    """Try again what failed, was cancelled or skipped in RUN, or only some TASKS of it.

    They get their retries anew; lanes that are broken are merged and verified again. If nobody drives the run, this
    command does.

    \b
    Example: budwood retry night test
    """
    refuse_unheard(detach=detach, jsonl=jsonl)
    changes = changed_fields({"python": python})
    with asked_of(run, store=store, notify=notify) as asked:
        refuse_unbegun(asked)
        driven = asked.store.holder(asked.row.id) is not None
        if not driven and not changes:  # else what is wanted again would be written down, and not be done
            refuse_uncallable(project_of(asked.row), fold(asked.store.read(asked.row.id)), command="retry")
        code = tell_answer(asked, ask(asked, "retry", tasks=tasks), quiet=quiet)
        if code or (driven and asked.store.holder(asked.row.id) is not None):
            return code
        manner = Manner(quiet=quiet, jsonl=jsonl, notify=asked.resolved.text("notify"))
        return go_on(asked, manner, changes=changes, detach=detach)
