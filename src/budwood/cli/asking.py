"""Asks something of a run on behalf of a command: a lone drive is watched for signals, and what went wrong is said.

Knows how a drive is watched. What asking means is `project.asking`'s.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from budwood.cli.drive import Drive, write_err
from budwood.cli.view.quiet import Quiet
from budwood.engine.driver import Listener
from budwood.engine.verdict import Exit
from budwood.executors.base import Executor
from budwood.project import asking
from budwood.project.alone import Alone
from budwood.project.asking import Asked, refuse_ended, refuse_moved, refuse_unbegun
from budwood.project.find import find_run
from budwood.project.place import find_project
from budwood.stores import Request, Store

__all__ = [
    "Asked",
    "ask",
    "asked_of",
    "cancel_alone",
    "record_alone",
    "refuse_ended",
    "refuse_unbegun",
    "tell_answer",
]


@contextmanager
def asked_of(run: str, *, store: str | None, notify: str | None = None) -> Iterator[Asked]:
    """Find the run that is meant."""
    here = find_project()
    resolved = here.resolve(flags={"store": store, "notify": notify})
    with here.open_store(resolved, create=False) as opened:
        row = find_run(opened, run)
        refuse_moved(opened, row)
        yield Asked(opened, row, resolved)


def ask(
    asked: Asked,
    kind: str,
    *,
    tasks: Sequence[str] = (),
    text: str = "",
    body: str = "",
    alone: Callable[[Request], None] | None = None,
) -> Request:
    """Put the request on the table and return it with its answer; a refusal is raised.

    `alone` answers it where no driver is alive.
    """
    alone = alone or (lambda request: record_alone(asked))
    return asking.ask(asked, kind, tasks=tasks, text=text, body=body, alone=alone)


def tell_answer(asked: Asked, request: Request, *, quiet: bool = False) -> int:
    """Say what became of a request; return the exit code. Who wants quiet hears only that it is still open."""
    name = asked.row.name
    if request.state == "pending":
        driver = asked.store.holder(asked.row.id)
        write_err([f"{name}: its driver ({driver}) has not answered yet; the request is kept and will be"])
        return Exit.WAITS
    if not quiet:
        write_err([f"{name}: {request.answer}"])
    return 0


def cancel_alone(asked: Asked, request: Request, *, whole: bool) -> None:
    """Take the lease and cancel; return when the processes of what was cancelled are gone. Nothing else starts."""
    _alone(asked).cancel(request, whole=whole)


def record_alone(asked: Asked) -> None:
    """Take the lease, do what a driver does first, and leave. Nothing starts."""
    _alone(asked).record()


def _alone(asked: Asked) -> Alone:
    notify = asked.resolved.text("notify")
    return Alone(asked, watch=_watched, notify=notify, say=lambda problem: write_err([f"warning: {problem}"]))


def _watched(store: Store, executor: Executor, *, run: str, listener: Listener) -> Drive:
    """Watch for signals, and say nothing."""
    return Drive(store, executor, run=run, view=Quiet(), listener=listener)
