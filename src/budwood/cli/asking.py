"""Asks something of a run: its driver answers; where none is alive, this process takes the lease and answers itself.

Knows requests and leases. Must not decide what a request brings about: that is the engine's, whoever drives.
"""

import secrets
import shlex
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import msgspec

from budwood._core.events import Event, Recorded, RequestRefused, RequestTaken
from budwood._core.model import ENDED_RUN, TaskId
from budwood._core.rows import RunRow
from budwood._core.state import RunState
from budwood.cli.drive import Drive, write_err
from budwood.cli.find import find_run, find_task, not_begun
from budwood.cli.project import find_project, project_of, this_machine
from budwood.cli.view.quiet import Quiet
from budwood.engine import Exit
from budwood.engine.opening import go_on
from budwood.errors import LeaseHeld, StoreError, UsageError
from budwood.settings import Resolved, run_settings
from budwood.stores import Request, Store

ANSWER_WITHIN_S = 10.0
_LOOK_AGAIN_S = 0.02


@dataclass(frozen=True, slots=True)
class Asked:
    """The run that something is asked of, and where it lives."""

    store: Store
    row: RunRow
    resolved: Resolved


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
    asked: Asked, kind: str, *, tasks: Sequence[str] = (), alone: Callable[[Request], None] | None = None
) -> Request:
    """Put the request on the table and return it with its answer; a refusal is raised.

    `alone` answers it where no driver is alive.
    """
    store, row = asked.store, asked.row
    ids: list[TaskId] = [find_task(store, row, task).id for task in tasks]
    body = msgspec.json.encode(ids).decode() if ids else ""
    request = store.ask(row.id, kind, body=body, key=secrets.token_hex(8))
    answered = _settle(asked, request, alone or (lambda request: record_alone(asked)))
    if answered.state == "refused":
        raise UsageError(answered.answer, hint=f"budwood show {row.name} shows where it stands")
    return answered


def _settle(asked: Asked, request: Request, alone: Callable[[Request], None]) -> Request:
    store, run = asked.store, asked.row.id
    until_s = time.monotonic() + ANSWER_WITHIN_S
    while request.state == "pending" and time.monotonic() < until_s:
        if store.holder(run) is None:
            with suppress(LeaseHeld):  # somebody began to drive it meanwhile, and will answer
                alone(request)
        else:
            time.sleep(_LOOK_AGAIN_S)
        request = store.request(run, request.id)
    return request


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


def refuse_moved(store: Store, row: RunRow) -> None:
    """Refuse to ask anything of a run that is driven in another store: nobody here would ever answer."""
    place = store.moved_to(row.id)
    if place is not None:
        raise StoreError(f"run {row.name} was moved to {place}", hint=f"use --store {shlex.quote(place)}")


def refuse_unbegun(asked: Asked) -> None:
    """Refuse to ask anything of a run that was only claimed: what was asked would meet whoever begins it."""
    if asked.row.last_event == 0 and asked.store.holder(asked.row.id) is None:
        raise not_begun(asked.row)


def refuse_ended(asked: Asked) -> None:
    """Refuse what makes no sense for a run that is over, without writing to it."""
    row = asked.row
    if row.phase in ENDED_RUN and asked.store.holder(row.id) is None:
        raise UsageError(f"run {row.name} is {row.phase.value}", hint=f"budwood show {row.name}")


def record_alone(asked: Asked) -> None:
    """Take the lease, answer what was asked, and leave: nothing starts, and what runs goes on under its supervisors."""
    work = _lone_drive(asked)
    work.driver.stop(now="answered a request")
    work.go(go_on(unpause=False))


def cancel_alone(asked: Asked, request: Request, *, whole: bool) -> None:
    """Take the lease and cancel; return when the processes of what was cancelled are gone. Nothing else starts."""
    answered = False

    def listener(events: Sequence[Recorded], state: RunState) -> None:
        nonlocal answered
        answered = answered or any(_answers(each.event, request) for each in events)
        if answered and not whole and not any(task.cancelling for task in state.open.values()):
            work.driver.stop(now="cancelled what was asked")

    work = _lone_drive(asked, listener)
    work.driver.stop()
    work.go(go_on(unpause=False))


def _answers(event: Event, request: Request) -> bool:
    return isinstance(event, RequestTaken | RequestRefused) and event.request == request.id


def _lone_drive(asked: Asked, listener: Callable[[Sequence[Recorded], RunState], None] | None = None) -> Drive:
    row = asked.row
    executor = project_of(row).executor(row.id, run_settings(asked.resolved, this_machine()))
    return Drive(asked.store, executor, run=row.id, view=Quiet(), listener=listener)
