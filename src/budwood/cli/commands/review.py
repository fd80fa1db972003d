"""`budwood review`: what waits for somebody's decision."""

import shlex
import sys

import click
import msgspec
from msgspec.structs import replace

from budwood.cli.arguments import run_argument
from budwood.cli.asking import Asked, ask, asked_of, tell_answer
from budwood.cli.differences import write_beginning
from budwood.cli.looking import json_option, note, store_option, write_json
from budwood.cli.scored import score_text
from budwood.cli.tables import Column, write_table
from budwood.cli.text import bold, one_line, tinted
from budwood.errors import UsageError
from budwood.project.desk import Desk, sit_down
from budwood.project.words import counted, money
from budwood.review.changes import changes
from budwood.review.undecided import Undecided, undecided

_COLUMNS = (
    Column("TASK", flexible=True),
    Column("OUTCOME", tint=tinted),
    Column("SCORE", right=True),
    Column("FILES", right=True),
    Column("LINES", right=True),
    Column("COST", right=True),
    Column("BRANCH", flexible=True),
)
_ANSWERS = {
    "a": "approve",
    "r": "reject",
    "v": "revise: say what is wanted, and send it back to its agent",
    "s": "skip: decide later",
    "q": "quit",
}
_SHOWN_LINES = 400
"""What of a difference a walk shows at most: what is asked would be lost below it."""


@click.command("review")
@run_argument(required=False)
@click.option("--walk", is_flag=True, help="Show one after the other, and ask what is decided. Needs a terminal.")
@json_option
@store_option
def command(run: str, walk: bool, as_json: bool, where: str | None) -> int:
    """List what has changes and no decision yet, or walk through it.

    What failed and left changes is listed too: it can be revised, retried or rejected.

    \b
    Example: budwood review night --walk
    """
    if walk and as_json:
        raise UsageError("--walk asks, and --json does not", hint="leave one of them out")
    if walk and not sys.stdin.isatty():
        raise UsageError("--walk asks questions, and standard input is no terminal", hint="budwood review lists them")
    with asked_of(run, store=where) as asked:
        desk = sit_down(asked.store, asked.row)
        waiting = [_whole(desk, each) for each in undecided(desk.state)]
        if as_json:
            write_json({"run": asked.row.name, "waiting": [_shape(desk, each) for each in waiting]})
        elif not waiting:
            note(f"{asked.row.name}: nothing waits for a decision")
        elif walk:
            return _walk(asked, desk, waiting)
        else:
            write_table(_COLUMNS, [_cells(desk, each) for each in waiting])
            note(f"\nhint: budwood review {asked.row.name} --walk shows and asks, one after the other")
    return 0


def _whole(desk: Desk, each: Undecided) -> Undecided:
    """Count what is decided about and shown: the whole work, where attempts went on with one another's."""
    candidate = desk.find(f"{each.task}.{each.attempt}")
    base = desk.base_of(candidate)
    if base == candidate.left.base:
        return each
    files = changes(desk.git, base, candidate.left.candidate)
    return replace(
        each,
        files=len(files),
        lines_added=sum(file.lines_added or 0 for file in files),
        lines_removed=sum(file.lines_removed or 0 for file in files),
    )


def _shape(desk: Desk, each: Undecided) -> dict[str, object]:
    lane, branch = each.lane.partition(" ")[2], desk.branch_of(each.lane)
    return {**msgspec.to_builtins(each), "lane": lane, "branch": branch}


def _cells(desk: Desk, each: Undecided) -> list[object]:
    return [
        each.task,
        each.outcome.value,
        score_text(each.score) or "-",
        each.files,
        f"+{each.lines_added} -{each.lines_removed}",
        money(each.cost_usd, guessed=each.untold) if each.cost_usd else "",
        desk.branch_of(each.lane) or "",
    ]


def _walk(asked: Asked, desk: Desk, waiting: list[Undecided]) -> int:
    revised = False
    for place, each in enumerate(waiting, start=1):
        candidate = desk.find(f"{each.task}.{each.attempt}")
        files = f"{counted(each.files, 'file')}, +{each.lines_added} -{each.lines_removed}"
        cost = f", {money(each.cost_usd, guessed=each.untold)}" if each.cost_usd else ""
        title = f"{place}/{len(waiting)} {each.task}: attempt {each.attempt} {each.outcome.value}, {files}{cost}"
        click.echo(bold(one_line(title)))
        more = write_beginning(desk.git, desk.base_of(candidate), candidate.left.candidate, most=_SHOWN_LINES)
        if more:
            click.echo(f"and {counted(more, 'line')} more: {_diff_command(asked, each)}")
        match _ask():
            case "q":
                break
            case "a":
                _decide(asked, "approve", each)
            case "r":
                _decide(asked, "reject", each, text=click.prompt("why (may be empty)", default="", show_default=False))
            case "v":
                revised = True
                _decide(asked, "revise", each, text=click.prompt("what is wanted"))
    if revised and asked.store.holder(asked.row.id) is None:
        note(f"\nhint: budwood resume {asked.row.name} works on what was sent back")
    return 0


def _diff_command(asked: Asked, each: Undecided) -> str:
    return f"budwood diff {shlex.join([asked.row.name, f'{each.task}.{each.attempt}'])}"


def _ask() -> str:
    while True:
        answer: str = click.prompt("a, r, v, s, q or ?", default="s", show_default=False).strip().lower()[:1]
        if answer in _ANSWERS:
            return answer
        for key, meaning in _ANSWERS.items():
            click.echo(f"  {key}  {meaning}")


def _decide(asked: Asked, kind: str, each: Undecided, *, text: str = "") -> None:
    """Ask the run; a refusal is told and the walk goes on."""
    try:
        tell_answer(asked, ask(asked, kind, tasks=(str(each.task),), text=text))
    except UsageError as refused:
        note(f"refused: {refused.message}")
