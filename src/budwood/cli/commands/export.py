"""`budwood export`: a run as a table or as a stream, for other programs."""

from contextlib import closing
from pathlib import Path
from typing import BinaryIO

import click
import msgspec

from budwood._core.events import as_json
from budwood._core.rows import RunRow
from budwood.cli.arguments import run_argument
from budwood.cli.looking import looking, note, store_option
from budwood.cli.moment import Results, events_until, read_moment
from budwood.cli.whole import is_named, output, output_option
from budwood.errors import UsageError
from budwood.project.find import find_run
from budwood.project.words import counted
from budwood.stores import Store


@click.command("export")
@run_argument(required=False)
@click.option("--csv", "as_csv", is_flag=True, help="A table: one row per attempt.")
@click.option("--jsonl", is_flag=True, help="Every event as one line of JSON.")
@output_option
@store_option
def command(run: str, as_csv: bool, jsonl: bool, file: Path | None, where: str | None) -> None:
    """Write a run for other programs: a table of its attempts, or its events.

    It may be driven meanwhile; what is written is of one moment.

    \b
    Example: budwood export night --csv -o night.csv
    """
    if as_csv == jsonl:
        raise UsageError("export writes --csv or --jsonl", hint=f"budwood export {run} --csv")
    with looking(where) as (_, store):
        row = find_run(store, run)
        with output(file) as out:
            if as_csv:
                _write_csv(store, row, out)
            else:
                _write_events(store, row, out)
    if is_named(file):
        note(f"run {row.name} written to {file}: {counted(row.last_event, 'event')}")


def _write_csv(store: Store, row: RunRow, out: BinaryIO) -> None:
    from budwood.cli.csv_rows import write_csv

    moment = read_moment(store, row)
    with closing(Results(events_until(store, moment.run))) as results:
        write_csv(moment, results, out)


def _write_events(store: Store, row: RunRow, out: BinaryIO) -> None:
    encoder = msgspec.json.Encoder()
    for recorded in events_until(store, row):
        out.write(encoder.encode(as_json(recorded)) + b"\n")
