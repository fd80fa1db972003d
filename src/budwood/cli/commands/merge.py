"""`budwood merge`: what was made goes into a branch: all finished lanes, verified together, or one line at once."""

from typing import Any

import click
import msgspec

from budwood._core.events import External, MergeAsked
from budwood._core.model import ENDED_RUN, RunSettings
from budwood.cli.arguments import run_argument
from budwood.cli.asking import Asked, ask, asked_of, refuse_unbegun, tell_answer
from budwood.cli.complete import LineName
from budwood.cli.drive import Manner
from budwood.cli.going_on import go_on
from budwood.cli.launch import refuse_unheard
from budwood.cli.one_line_merge import merge_line
from budwood.cli.options import drive_options
from budwood.errors import UsageError
from budwood.project.desk import Desk, sit_down
from budwood.project.place import project_of


@click.command("merge")
@run_argument(required=True)
@click.argument("line", type=LineName(), metavar="[TASK|LANE]", required=False)
@click.option("--into", metavar="BRANCH", help="A branch of yours that is to take it; default: as the run says.")
@click.option(
    "--squash/--no-squash", default=None, help="As one commit, without its history; default: as the run says."
)
@click.option("--partial", is_flag=True, help="Lanes with tasks that did not succeed, too: what was accepted in them.")
@click.option("--resolve", metavar="AGENT", multiple=True, help="An agent that may try to solve conflicts.")
@drive_options
def command(
    run: str,
    line: str | None,
    detach: bool,
    jsonl: bool,
    quiet: bool,
    notify: str | None,
    store: str | None,
    **how: Any,
) -> int:
    """Merge the finished lanes of RUN, and publish them, verified, as branch budwood/RUN.

    With --into, or `into` in the plan, a branch of yours moves there as well; where it is checked out, your files move
    with it, and none that you have changed is overwritten. A conflict costs its lane only (exit code 5): solve it where
    `budwood open RUN LANE` says, commit, and `budwood resume RUN`.

    With TASK or LANE, that line alone is merged into a branch of yours at once, without verifying; what it stands on
    comes with it.

    \b
    Example: budwood merge night --into main
    """
    refuse_unheard(detach=detach, jsonl=jsonl)
    with asked_of(run, store=store, notify=notify) as asked:
        refuse_unbegun(asked)
        desk = sit_down(asked.store, asked.row)
        desk.refuse_outside_git("merge into")
        if line is not None:
            if detach or jsonl or how["partial"] or how["resolve"]:
                raise UsageError("--partial, --resolve, --detach and --jsonl are for the lanes of a whole run")
            return merge_line(asked, desk, line, into=how["into"], squash=how["squash"])
        wanted = _wish(desk, **how)
        if asked.store.holder(asked.row.id) is not None:
            return _tell_driver(asked, wanted, desk.state.settings)
        if asked.row.phase not in ENDED_RUN:
            raise UsageError(
                f"run {run} is {asked.row.phase.value}, and not all of its tasks have ended",
                hint=f"budwood resume {run} goes on; budwood cancel {run} gives the rest up",
            )
        manner = Manner(quiet=quiet, jsonl=jsonl, notify=asked.resolved.text("notify"))
        changes = _changes(asked, desk, wanted.resolve)
        return go_on(asked, manner, changes=changes, detach=detach, also=(External(cause="merge"), wanted))


def _wish(desk: Desk, *, into: str | None, squash: bool | None, partial: bool, resolve: tuple[str, ...]) -> MergeAsked:
    settings = desk.state.settings
    return MergeAsked(
        into=_checked(desk, into or settings.into),
        squash=settings.merge == "squash" if squash is None else squash,
        partial=partial,
        resolve=resolve,
    )


def _checked(desk: Desk, into: str) -> str:
    if into:
        desk.refuse_ours(into)
        if desk.repository.ref(f"refs/heads/{into}") is None:
            raise UsageError(f"there is no branch {into}", hint="git branch lists them")
    return into


def _tell_driver(asked: Asked, wanted: MergeAsked, settings: RunSettings) -> int:
    unknown = [name for name in wanted.resolve if name not in settings.agents]
    if unknown:
        raise UsageError(
            f"run {asked.row.name} is being driven, and began without agent {unknown[0]}",
            hint="give the command again when it has ended",
        )
    return tell_answer(asked, ask(asked, "merge", body=msgspec.json.encode(wanted).decode()))


def _changes(asked: Asked, desk: Desk, resolve: tuple[str, ...]) -> dict[str, object]:
    if not resolve:
        return {}
    from budwood.project.manning import with_agents

    settings = with_agents(desk.state.settings, resolve, project_of(asked.row), asked.resolved)
    return {"agents": settings.agents}
