"""`budwood run`: a plan becomes a run, or its run goes on."""

import shlex
from collections.abc import Iterator

import click

from budwood._core.ids import safe_name
from budwood._core.model import TaskPhase
from budwood._core.rows import RunRow
from budwood._core.state import RunState
from budwood.cli.drive import Manner, tell, write_err
from budwood.cli.garbage import building
from budwood.cli.launch import Launch, launch, refuse_unheard
from budwood.cli.options import drive_options, limit_options
from budwood.cli.text import one_line
from budwood.engine import reach_verdict
from budwood.executors.local import find_binary
from budwood.project.find import newest_of
from budwood.project.planned import Planned, fresh_run_id, read_planned
from budwood.project.words import counted
from budwood.stores import Store


@click.command()
@click.argument("file", type=click.Path())
@limit_options
@click.option("--seed", type=int, metavar="N", help="Every random number is derived from it; a run keeps its seed.")
@click.option("--name", metavar="NAME", help="What the run is called; default: the file's name.")
@click.option("--agent", metavar="NAME", help="Who does what prompts say, unless a task says otherwise.")
@click.option("--model", metavar="NAME", help="The model that agents use, unless a task says otherwise.")
@click.option("--check", metavar="CMD", help="What judges an attempt, unless a task says otherwise.")
@click.option("--score", metavar="CMD", help="What scores an attempt's candidate, unless a task says otherwise.")
@click.option("--base", metavar="COMMIT", help="What workspaces start with; default: HEAD.")
@click.option("--workspace", metavar="KIND", help="What attempts work in: clone, worktree, copy or none.")
@click.option("--sandbox", metavar="KIND", help="What keeps attempts in: none or bwrap.")
@click.option("--include-dirty", is_flag=True, help="Start with your checkout as it is, changes and new files too.")
@click.option("--keep", is_flag=True, default=None, help="Leave the workspaces of ended attempts as they are.")
@click.option("--no-budget", is_flag=True, help="Let agents that cost money run without a limit on it.")
@click.option("--mcp", is_flag=True, default=None, help="Give agents that can the MCP server of budwood.")
@click.option("--again", is_flag=True, help="Make a new run, even if this file's last one is unfinished or done.")
@click.option("--dry-run", is_flag=True, help="Show what would run; start and write nothing.")
@drive_options
def command(
    file: str,
    again: bool,
    dry_run: bool,
    include_dirty: bool,
    no_budget: bool,
    detach: bool,
    jsonl: bool,
    quiet: bool,
    **flags: object,
) -> int:
    """Run the plan FILE, or go on with its unfinished run.

    Nothing that was done is done again: a run that was killed goes on where it was, an edited plan runs what is new or
    changed, a finished one only tells how it went.

    \b
    Example: budwood run plan.toml --slots 4
    """
    refuse_unheard(detach=detach, jsonl=jsonl)
    with building():
        planned = read_planned(file, flags)
    if dry_run:
        from budwood.cli.dry_run import show_dry_run

        show_dry_run(planned, again=again)
        return 0
    planned = planned.equipped(include_dirty=include_dirty)
    if not quiet:
        write_err(_remarks(planned, file))
    find_binary()  # without a supervisor nothing can run, and nothing shall be claimed
    with planned.project.open_store(planned.resolved, create=True) as store:
        is_new = again or not _has_begun(newest_of(store, planned.source))
        if planned.settings.agents:
            from budwood.cli.starting import agree, look_back

            planned, outlook = look_back(planned, store)
            if is_new:
                money = list(agree(planned, outlook, no_budget=no_budget))
                write_err(() if quiet else money)
        claim = store.claim(fresh_run_id(), name=planned.name, source=planned.source, fresh=again)
        if not claim.created:
            code = _already_over(planned, store, run=claim.run, quiet=quiet)
            if code is not None:
                return code
            _note_name(flags["name"], claim.name)
        if planned.settings.workspace is not None and not quiet:
            from budwood.cli.starting import announce

            write_err(announce(planned, planned.settings.workspace, is_new=is_new, include_dirty=include_dirty))
        what = Launch(
            project=planned.project,
            resolved=planned.resolved,
            settings=planned.settings,
            run=claim.run,
            name=claim.name,
            opening=planned.opening(run=claim.run, name=claim.name),
            strategy=planned.strategy,
            manner=Manner(quiet=quiet, jsonl=jsonl),
        )
        return launch(what, store, detach=detach)


def _remarks(planned: Planned, file: str) -> Iterator[str]:
    yield from (f"note: {one_line(text)}" for text in planned.plan.left_out)
    number = len(planned.warnings())
    if number:
        yield f"note: {counted(number, 'remark')} on this plan: budwood plan check {file}"


def _has_begun(row: RunRow | None) -> bool:
    return row is not None and row.last_event > 0


def _note_name(wanted: object, name: str) -> None:
    if isinstance(wanted, str) and safe_name(wanted) != name:
        write_err([f"note: this file's run goes on under its name {name}; --again makes a new one"])


def _already_over(planned: Planned, store: Store, *, run: str, quiet: bool) -> int | None:
    """Tell how a run went that is over and whose plan is as it was; None if there is something to drive."""
    state = planned.end_of(store, run)
    if state is None:
        return None
    verdict = reach_verdict(state)
    tell(verdict, state, store, quiet=quiet, hint=_hint(planned, state))
    return verdict.exit_code


def _hint(planned: Planned, state: RunState) -> str:
    python, afresh = planned.settings.python, "--again runs it afresh"
    if python and python != state.settings.python and state.counts[TaskPhase.FAILED]:
        return f"--python {shlex.quote(python)} lets it call functions with the interpreter that is set now; {afresh}"
    return afresh
