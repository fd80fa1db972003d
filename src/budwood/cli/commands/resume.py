"""`budwood resume`: a run goes on where it was."""

import click

from budwood._core.model import RunPhase
from budwood._core.replay import fold
from budwood._core.rows import RunRow
from budwood._core.state import RunState
from budwood.cli.arguments import run_argument
from budwood.cli.asking import ask, asked_of, refuse_unbegun, tell_answer
from budwood.cli.drive import Manner, tell
from budwood.cli.going_on import go_on
from budwood.cli.launch import refuse_unheard
from budwood.cli.options import changed_fields, drive_options, limit_options
from budwood.engine.opening import may_be_merged
from budwood.engine.verdict import reach_verdict
from budwood.errors import UsageError
from budwood.project.find import begin_command
from budwood.stores import Store


@click.command()
@run_argument(required=True)
@limit_options
@drive_options
def command(
    run: str, detach: bool, jsonl: bool, quiet: bool, notify: str | None, store: str | None, **flags: object
) -> int:
    """Go on with RUN where it was: paused, interrupted or killed.

    Attempts that still run are adopted, what was done stays done; conflicts that you have solved and committed are
    merged. Limits that are given replace the run's own.

    \b
    Example: budwood resume last --budget-usd 30
    """
    refuse_unheard(detach=detach, jsonl=jsonl)
    changes = changed_fields(flags)
    with asked_of(run, store=store, notify=notify) as asked:
        row, opened = asked.row, asked.store
        driven = opened.holder(row.id) is not None
        refuse_unbegun(asked)
        _refuse(row)
        if row.phase is RunPhase.FINISHED and not driven:
            state = fold(opened.read(row.id))
            if not may_be_merged(state):
                return _tell(row, state, opened, quiet=quiet)
        if row.phase is RunPhase.PAUSED and driven and not changes:  # it waits for what still runs
            return tell_answer(asked, ask(asked, "resume"))
        manner = Manner(quiet=quiet, jsonl=jsonl, notify=asked.resolved.text("notify"))
        return go_on(asked, manner, changes=changes, detach=detach)


def _refuse(row: RunRow) -> None:
    if row.phase is RunPhase.CANCELLED:
        raise UsageError(
            f"run {row.name} was cancelled; what it had done is kept",
            hint=f"budwood retry {row.name} takes up again what was cancelled",
        )


def _tell(row: RunRow, state: RunState, store: Store, *, quiet: bool) -> int:
    verdict = reach_verdict(state)
    hint = f"{begin_command(row)} --again runs it afresh" if row.source.startswith("/") else ""
    tell(verdict, state, store, quiet=quiet, hint=hint)
    return verdict.exit_code
