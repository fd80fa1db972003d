"""`budwood best-of`: several attempts at one task, and the best of them, without a plan file."""

from typing import Any

import click

from budwood.cli.beginning import Beginning, begin
from budwood.cli.drive import Manner
from budwood.cli.launch import refuse_unheard
from budwood.cli.options import drive_options, limit_options
from budwood.errors import UsageError
from budwood.plans import Plan
from budwood.project.place import find_project
from budwood.project.planned import make_planned

_NAME = "best-of"


@click.command("best-of")
@click.argument("task")
@click.option("-n", "n", type=int, default=4, show_default=True, metavar="N", help="How many attempts.")
@click.option("--agent", "agents", multiple=True, metavar="NAME", help="Who attempts it; several are dealt round.")
@click.option("--model", "models", multiple=True, metavar="NAME", help="The model; several are dealt round.")
@click.option("--hint", "hints", multiple=True, metavar="TEXT", help="How to go about it; several are dealt round.")
@click.option("--check", metavar="CMD", help="What judges an attempt.")
@click.option("--score", metavar="CMD", help="What scores an attempt's candidate: it prints a number.")
@click.option("--direction", type=click.Choice(("max", "min")), help="Whether more or less of the score is better.")
@click.option("--choose", type=click.Choice(("score", "judge", "person")), help="Who chooses; default: what there is.")
@click.option("--judge", metavar="AGENT", help="An agent that reads what was made, and chooses.")
@click.option("--synthesise", type=click.Choice(("agent", "union")), help="Put the best of several together, and how.")
@click.option("--seed", type=int, metavar="N", help="Every random number is derived from it.")
@click.option("--name", metavar="NAME", default=_NAME, show_default=True, help="What the run is called.")
@click.option("--base", metavar="COMMIT", help="What workspaces start with; default: HEAD.")
@click.option("--workspace", metavar="KIND", help="What attempts work in: clone, worktree or copy.")
@click.option("--sandbox", metavar="KIND", help="What keeps attempts in: none or bwrap.")
@click.option("--include-dirty", is_flag=True, help="Start with your checkout as it is, changes and new files too.")
@click.option("--no-budget", is_flag=True, help="Let agents that cost money run without a limit on it.")
@limit_options
@drive_options
def command(
    task: str,
    score: str | None,
    direction: str | None,
    include_dirty: bool,
    no_budget: bool,
    detach: bool,
    jsonl: bool,
    quiet: bool,
    **given: Any,
) -> int:
    """Attempt TASK several times at once, and choose the best.

    Each attempt works in a workspace of its own. What is chosen by score, by a judge or by you (`budwood approve`) is
    what `budwood best` shows and `budwood merge` merges; nothing that the others made is lost. Put together, it is
    chosen only if it is better than all of them. A run that was killed goes on with `budwood resume`.

    \b
    Example: budwood best-of "Make it faster" --agent claude --score "make bench"
    """
    refuse_unheard(detach=detach, jsonl=jsonl)
    if direction is not None and score is None:
        raise UsageError("--direction is about a score, and there is no --score", hint="--score CMD prints a number")
    wanted = {name: given.pop(name) for name in ("n", "agents", "models", "hints", "choose", "judge", "synthesise")}
    options = {name: list(each) if isinstance(each, tuple) else each for name, each in wanted.items() if each}
    flags = {
        **given,
        "score": score if direction is None else {"run": score, "direction": direction},
        "strategy": _NAME,
        "options": {"prompt": task, **options, "n": wanted["n"]},
    }
    if wanted["agents"]:  # who judges and puts together, where nobody else is named
        flags["agent"] = wanted["agents"][0]
    planned = make_planned(Plan(tasks=(), path="budwood best-of"), find_project(), flags=flags, source="")
    how = Beginning(
        include_dirty=include_dirty,
        no_budget=no_budget,
        detach=detach,
        manner=Manner(quiet=quiet, jsonl=jsonl),
        name=given["name"],
    )
    return begin(planned.equipped(include_dirty=include_dirty), how)
