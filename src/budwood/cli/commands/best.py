"""`budwood best`: what a search has come to, and its files."""

import shlex
from pathlib import Path

import click
import msgspec

from budwood._core.choice import choice, eligible, why_undecided
from budwood._core.state import RunState
from budwood.cli.arguments import run_argument
from budwood.cli.looking import json_option, looking, note, store_option, write_json
from budwood.cli.scored import score_text
from budwood.cli.text import one_line
from budwood.cli.whole import folder_for
from budwood.engine.verdict import Exit
from budwood.project.comparing import compare_run
from budwood.project.desk import sit_down
from budwood.project.find import find_run
from budwood.project.words import counted


@click.command("best")
@run_argument(required=True)
@click.option("-o", "--output", type=click.Path(file_okay=False), metavar="PATH", help="Write its files there.")
@json_option
@store_option
def command(run: str, output: str | None, as_json: bool, where: str | None) -> int:
    """Show what is best in RUN, and why.

    What you approved comes first, then what the strategy chose, then the best score so far. With -o all files of the
    project as that candidate has them are written to a directory, which must be new or empty. Exit code 1 if nothing is
    chosen.

    \b
    Example: budwood best best-of -o /tmp/best
    """
    with looking(where) as (_, store):
        desk = sit_down(store, find_run(store, run))
        found = choice(desk.state)
        if found is None:
            why = ": ".join(filter(None, ("nothing is chosen", why_undecided(desk.state))))
            if as_json:
                write_json({"run": desk.row.name, "by": None, "why": why, "best": None, "written": None})
            else:
                name = shlex.quote(desk.row.name)
                note(f"{name}: {one_line(why)}\n\nhint: budwood compare {name}{_approve(desk.state, name)}")
            return Exit.NOT_MET
        (compared,) = compare_run(desk, [str(found.task.spec.id)])
        if output is not None:
            with folder_for(Path(output), empty=True) as folder:
                desk.pool().restore(compared.candidate, folder)
        if as_json:
            best = msgspec.to_builtins(compared)
            write_json({"run": desk.row.name, "by": found.by, "why": found.why, "best": best, "written": output})
            return 0
        click.echo(str(compared.task))
        by = {"person": "chosen by somebody: ", "strategy": f"chosen by {desk.state.strategy}: ", "score": ""}[found.by]
        note(f"{by}{one_line(found.why)}")
        score = score_text(compared.score)
        changed = f"{counted(len(compared.files), 'file')} changed"
        note(f"{f'score {score}, ' if score else ''}{changed}: budwood compare {desk.row.name} {compared.task} --diff")
        if output is not None:
            note(f"written to {output}")
        return 0


def _approve(state: RunState, name: str) -> str:
    return f"; budwood approve {name} TASK chooses" if eligible(state) else ""
