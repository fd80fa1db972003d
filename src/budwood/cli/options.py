"""Options that several commands share, so that each means the same everywhere.

Knows click and the names of settings: what an option is called here, `settings` calls the same.
"""

from collections.abc import Callable, Mapping
from typing import TypeVar

import click

from budwood import settings as s
from budwood.cli.looking import STORE_HELP
from budwood.settings.layers import read_value

Command = TypeVar("Command", bound=Callable[..., object])

_PYTHON = click.option("--python", metavar="PATH", help="The interpreter that calls functions.")
_LIMITS = (
    click.option(
        "--slots",
        type=int,
        metavar="N",
        help="How many attempts run at once; default: the run's own; of a new one all cores, with agents 3, "
        "in a beam 1.",
    ),
    click.option("--strict", is_flag=True, default=None, help="When a task has failed for good, start nothing new."),
    click.option("--budget-usd", type=float, metavar="USD", help="Pause when so much money is spent."),
    click.option("--budget-tokens", type=int, metavar="N", help="Pause when so many tokens are spent."),
    click.option("--budget-time", metavar="TIME", help='Pause when it was driven for so long: "90s", "8h".'),
    click.option("--max-attempts", type=int, metavar="N", help="Pause when so many attempts were started."),
    click.option("--max-tasks", type=int, metavar="N", help="Pause when the strategy has asked for so many tasks."),
    _PYTHON,
)
_MANNERS = (
    click.option("--detach", is_flag=True, help="Go on in the background; survives a logout."),
    click.option("--notify", metavar="CMD/URL", help="Run CMD when it ends, pauses or waits; or send URL every event."),
    click.option("--jsonl", is_flag=True, help="Write every event as one JSON line to standard output."),
    click.option("-q", "--quiet", is_flag=True, help="Say nothing but, in one line, what went wrong."),
    click.option("--store", metavar="PATH", help=STORE_HELP),
)


def limit_options(command: Command) -> Command:
    """Add what a run is allowed."""
    return _add(command, _LIMITS)


def python_option(command: Command) -> Command:
    """Add who calls functions."""
    return _add(command, (_PYTHON,))


def drive_options(command: Command) -> Command:
    """Add where a drive goes on, and how it is seen and heard of."""
    return _add(command, _MANNERS)


def _add(command: Command, options: tuple[Callable[[Command], Command], ...]) -> Command:
    for option in reversed(options):
        command = option(command)
    return command


def changed_fields(flags: Mapping[str, object]) -> dict[str, object]:
    """Turn the flags that were given into fields of RunSettings, checked like any other setting."""
    given = {name: value for name, value in flags.items() if value is not None}
    return {s.KEYS[name].target: read_value(s.KEYS[name], value, origin=s.FLAG) for name, value in given.items()}
