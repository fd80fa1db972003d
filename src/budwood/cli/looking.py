"""What commands that read have in common: the project's store, and JSON on standard output.

Knows click and the project. Must not write to a store.
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar

import click
import msgspec

from budwood._core.rows import RunRow
from budwood._core.state import RunState
from budwood.cli.garbage import building
from budwood.project.place import Project, find_project
from budwood.stores import Store

Command = TypeVar("Command", bound=Callable[..., object])

STORE_HELP = "Where events live: a path or postgresql://…, if not .budwood/store.db."


def store_option(command: Command) -> Command:
    """Add --store."""
    return click.option("--store", "where", metavar="PATH", help=STORE_HELP)(command)


def json_option(command: Command) -> Command:
    """Add --json."""
    return click.option("--json", "as_json", is_flag=True, help="Write JSON; its shape is in the reference.")(command)


@contextmanager
def looking(where: str | None) -> Iterator[tuple[Project, Store]]:
    """Find the project and open its store; one that is not there is an error, and is not made."""
    project = find_project()
    with project.open_store(project.resolve(flags={"store": where}), create=False) as store:
        yield project, store


@building()
def read_state(store: Store, run: RunRow) -> RunState:
    """Fold the run's events into its state of now."""
    from budwood._core.replay import fold

    return fold(store.read(run.id), again=lambda: store.read(run.id))


def now_ms() -> int:
    """Read the clock."""
    return time.time_ns() // 1_000_000


def write_json(value: object) -> None:
    """Write one JSON document."""
    click.echo(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())


def write_json_line(value: object) -> None:
    """Write one line of a stream, and let it go at once."""
    sys.stdout.buffer.write(msgspec.json.encode(value) + b"\n")
    sys.stdout.buffer.flush()


def note(text: str) -> None:
    """Say something that is no data; where nobody can hear it, that is no reason to fail."""
    with suppress(OSError):
        click.echo(text, err=True)
