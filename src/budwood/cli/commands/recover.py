"""`budwood recover`: what a driver that died left behind is put right, without going on."""

import click
from msgspec.structs import asdict

from budwood.cli.arguments import run_argument
from budwood.cli.asking import asked_of, record_alone, refuse_unbegun
from budwood.cli.looking import json_option, read_state, store_option, write_json
from budwood.project.recovering import recover


@click.command("recover")
@run_argument(required=False)
@json_option
@store_option
def command(run: str, as_json: bool, where: str | None) -> None:
    """Put right what a run that was killed has left behind, without going on.

    Results that nobody took are taken, leases of ended attempts end, lane branches and refs are put where the run says.
    Never removes a directory that holds work. `budwood resume` does the same first.

    \b
    Example: budwood recover night
    """
    with asked_of(run, store=where) as asked:
        refuse_unbegun(asked)
        has_workspaces = read_state(asked.store, asked.row).settings.workspace is not None
        found = recover(asked, has_workspaces=has_workspaces, alone=lambda: record_alone(asked))
        if as_json:
            write_json({"run": asked.row.name, **asdict(found)})
            return
        for word, lines in asdict(found).items():
            for line in lines:
                click.echo(f"{word}  {line}")
        if not (found.recovered or found.cleaned or found.left):
            click.echo(f"{asked.row.name}: everything is in its place")
