"""`budwood retry`: what did not succeed is wanted again."""

import click

from budwood.cli.arguments import run_argument
from budwood.cli.asking import Asked, ask, asked_of, refuse_unbegun, tell_answer
from budwood.cli.complete import TaskName
from budwood.cli.drive import Manner
from budwood.cli.launch import Launch, launch, refuse_unheard
from budwood.cli.options import drive_options
from budwood.cli.project import project_of, this_machine
from budwood.engine.opening import go_on
from budwood.settings import run_settings


@click.command()
@run_argument(required=True)
@click.argument("tasks", nargs=-1, type=TaskName())
@drive_options
def command(
    run: str,
    tasks: tuple[str, ...],
    detach: bool,
    jsonl: bool,
    quiet: bool,
    notify: str | None,
    store: str | None,
) -> int:
    """Try again what failed, was cancelled or skipped in RUN, or only some TASKS of it.

    They get their retries anew. If nobody drives the run, this command does.

    \b
    Example: budwood retry night test
    """
    refuse_unheard(detach=detach, jsonl=jsonl)
    with asked_of(run, store=store, notify=notify) as asked:
        refuse_unbegun(asked)
        driven = asked.store.holder(asked.row.id) is not None
        code = tell_answer(asked, ask(asked, "retry", tasks=tasks), quiet=quiet)
        if code or (driven and asked.store.holder(asked.row.id) is not None):
            return code
        return _go_on(asked, Manner(quiet=quiet, jsonl=jsonl, notify=asked.resolved.text("notify")), detach=detach)


def _go_on(asked: Asked, manner: Manner, *, detach: bool) -> int:
    what = Launch(
        project=project_of(asked.row),
        resolved=asked.resolved,
        settings=run_settings(asked.resolved, this_machine()),
        run=asked.row.id,
        name=asked.row.name,
        opening=go_on(),
        manner=manner,
    )
    return launch(what, asked.store, detach=detach)
