"""`budwood run`: a plan becomes a run, or its run goes on."""

from collections.abc import Iterator

import click

from budwood.cli.beginning import Beginning, begin
from budwood.cli.drive import Manner, write_err
from budwood.cli.garbage import building
from budwood.cli.launch import refuse_unheard
from budwood.cli.options import drive_options, limit_options
from budwood.cli.text import one_line
from budwood.project.planned import Planned, read_planned
from budwood.project.words import counted

_SHOWN_WARNINGS = 3


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
    how = Beginning(
        again=again,
        include_dirty=include_dirty,
        no_budget=no_budget,
        detach=detach,
        manner=Manner(quiet=quiet, jsonl=jsonl),
        name=None if flags["name"] is None else str(flags["name"]),
    )
    return begin(planned, how)


def _remarks(planned: Planned, file: str) -> Iterator[str]:
    yield from (f"note: {one_line(text)}" for text in planned.plan.left_out)
    found = planned.warnings()
    shown = found[:_SHOWN_WARNINGS] if planned.settings.agents else []  # a night may be lost by what is not read
    yield from (f"warning: {one_line(text)}" for text in shown)
    left = len(found) - len(shown)
    if left:
        more = "more remark" if shown else "remark"
        yield f"note: {counted(left, more)} on this plan: budwood plan check {file}"
