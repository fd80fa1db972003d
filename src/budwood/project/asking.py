"""Asks something of a run: its driver answers; where none is alive, whoever asks takes the lease and answers itself.

Knows requests and leases. Must not decide what a request brings about: that is the engine's, whoever drives. How a
lone drive is watched is its caller's.
"""

import secrets
import shlex
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

import msgspec

from budwood._core.events import Event, Recorded, RequestRefused, RequestTaken
from budwood._core.model import ENDED_RUN, TaskId
from budwood._core.rows import RunRow
from budwood._core.state import RunState
from budwood.engine.driver import Listener
from budwood.errors import LeaseHeld, StoreError, UsageError
from budwood.project.find import find_task, not_begun
from budwood.settings import Resolved
from budwood.stores import Request, RequestBody, Store

ANSWER_WITHIN_S = 10.0
_LOOK_AGAIN_S = 0.02


@dataclass(frozen=True, slots=True)
class Asked:
    """The run that something is asked of, and where it lives."""

    store: Store
    row: RunRow
    resolved: Resolved


def ask(
    asked: Asked,
    kind: str,
    *,
    tasks: Sequence[str] = (),
    text: str = "",
    body: str = "",
    alone: Callable[[Request], None],
) -> Request:
    """Put the request on the table and return it with its answer; a refusal is raised.

    It is about tasks, with a text, or says what it says in a `body` of its own. `alone` answers it where no driver is
    alive. One that is still pending has a driver that does not answer.
    """
    store, row = asked.store, asked.row
    ids: list[TaskId] = [find_task(store, row, task).id for task in tasks]
    wish: object = RequestBody(tasks=ids, text=text) if text else ids
    said = msgspec.json.encode(wish).decode() if ids else body
    request = store.ask(row.id, kind, body=said, key=secrets.token_hex(8))
    answered = _settle(asked, request, alone)
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


def until_cancelled(request: Request, *, whole: bool, leave: Callable[[str], None]) -> Listener:
    """Listen to a lone drive, and let it leave when what the request cancelled is gone; a whole run ends by itself."""
    answered = False

    def listener(events: Sequence[Recorded], state: RunState) -> None:
        nonlocal answered
        answered = answered or any(_answers(each.event, request) for each in events)
        if answered and not whole and not any(task.cancelling for task in state.open.values()):
            leave("cancelled what was asked")

    return listener


def _answers(event: Event, request: Request) -> bool:
    return isinstance(event, RequestTaken | RequestRefused) and event.request == request.id


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
