"""Starts driving: here, or in a process that survives the terminal.

Knows the project and `drive`. Opens the store itself when it detaches, because no store survives a fork.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass

import click

from budwood._core.model import RunSettings
from budwood.cli.drive import Manner, drive
from budwood.cli.looking import note
from budwood.engine.driver import Opening
from budwood.errors import UsageError
from budwood.project.executing import make_executor
from budwood.project.place import Project
from budwood.settings import Resolved
from budwood.stores import Store
from budwood.strategies import Strategy


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """A run that is to be driven."""

    project: Project
    resolved: Resolved
    settings: RunSettings
    run: str
    name: str
    opening: Opening
    strategy: Strategy
    manner: Manner


def refuse_unheard(*, detach: bool, jsonl: bool) -> None:
    """Refuse a stream that nobody could read."""
    if detach and jsonl:
        raise UsageError(
            "--jsonl writes to a terminal that --detach leaves", hint="budwood watch RUN --jsonl follows it"
        )


def launch(what: Launch, store: Store, *, detach: bool) -> int:
    """Drive, and return the exit code; detached, return when the run is under way. The store is closed then."""
    if not detach:
        return _drive(what, store)
    from budwood.cli.detach import Foreground
    from budwood.cli.detach import detach as leave

    store.close()
    log = what.project.run_dir(what.run) / "driver.log"
    side = leave(log)
    if isinstance(side, Foreground):
        if side.exit_code is not None:
            sys.stderr.write(side.said)
            return side.exit_code
        _tell_detached(what, pid=side.pid)
        return 0
    with what.project.open_store(what.resolved, create=True) as again:
        return _drive(what, again, ready=side.ready)


def _drive(what: Launch, store: Store, *, ready: Callable[[], None] | None = None) -> int:
    return drive(
        store,
        what.project,
        run=what.run,
        name=what.name,
        opening=what.opening,
        strategy=what.strategy,
        executor=make_executor(what.project, what.run, what.settings, store=store.address),
        manner=what.manner,
        ready=ready,
    )


def _tell_detached(what: Launch, *, pid: int) -> None:
    click.echo(what.name)
    note(
        f"drives in the background as pid {pid}; what it says: {what.project.run_dir(what.run) / 'driver.log'}\n"
        f"  budwood watch {what.name}   follows it\n"
        f"  budwood pause {what.name}   stops it\n"
        f"  budwood logs {what.name}    shows what its tasks print"
    )
