"""`budwood story`: what happened, event by event."""

import textwrap
from collections.abc import Iterable

import click

from budwood._core.events import Recorded, as_json
from budwood._core.model import TaskId
from budwood._core.replay import story
from budwood.cli.arguments import run_argument, task_argument
from budwood.cli.looking import looking, store_option, write_json_line
from budwood.cli.sentences import sentence
from budwood.cli.tables import terminal_width
from budwood.cli.text import bold, dim, is_terminal
from budwood.project.find import find_run, find_task
from budwood.project.times import clock, day, iso


@click.command("story")
@run_argument(required=False)
@task_argument()
@click.option("--after", type=click.IntRange(min=0), default=0, metavar="N", help="Begin behind this event's number.")
@click.option("--json", "as_lines", is_flag=True, help="Write each event as a line of JSON.")
@store_option
def command(run: str, task: str | None, after: int, as_lines: bool, where: str | None) -> None:
    """Tell what happened in a run, or to one TASK, event by event.

    \b
    Example: budwood story night build
    """
    with looking(where) as (_, store):
        row = find_run(store, run)
        about = None if task is None else find_task(store, row, task).id
        events: Iterable[Recorded] = store.read(row.id, after=after)
        if about is not None:
            events = story(events, about)
        if as_lines:
            for recorded in events:
                write_json_line(as_json(recorded))
        else:
            _tell(events, about)


def _tell(events: Iterable[Recorded], about: TaskId | None) -> None:
    """Write lines: on a terminal with the time of day here; elsewhere with whole times in UTC."""
    if not is_terminal():
        for recorded in events:
            click.echo(f"{recorded.number} {iso(recorded.at_ms)} {sentence(recorded.event, about)}")
        return
    room, today = terminal_width(), ""
    for recorded in events:
        if day(recorded.at_ms) != today:
            today = day(recorded.at_ms)
            click.echo(bold(today))
        head = f"{recorded.number:>5}  {clock(recorded.at_ms)}  "
        first, *rest = textwrap.wrap(sentence(recorded.event, about), room - len(head), break_on_hyphens=False)
        click.echo(dim(head) + first)
        for line in rest:
            click.echo(" " * len(head) + line)
