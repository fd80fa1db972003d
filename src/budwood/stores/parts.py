"""A run as a sequence of parts, and those as JSON lines: a header, logs, events, requests, an end.

Knows the contract and the shape of events; must not know backends, nor what events mean.
"""

from collections.abc import Iterable, Iterator

import msgspec
from msgspec import Struct

from budwood._core import events
from budwood._core.events import Recorded
from budwood._core.rows import RunRow
from budwood.errors import NoSuchId, StoreError, UsageError
from budwood.stores.base import LogEntry, Request, Store

FORMAT = 1
_TRIES = 100


class Header(Struct, frozen=True, kw_only=True, tag="budwood-run", tag_field="what"):
    """Which run this is; `fence` is the highest fencing number that its supervisors can have seen."""

    format: int
    run: str
    name: str
    source: str
    fence: int


class LogPart(Struct, frozen=True, kw_only=True, tag="log", tag_field="what"):
    """What an attempt printed; base64 in JSON."""

    task: int
    attempt: int
    data: bytes


class EventPart(Struct, frozen=True, kw_only=True, tag="event", tag_field="what"):
    """An event as stores keep it."""

    number: int
    at_ms: int
    kind: str
    version: int
    body: msgspec.Raw


class RequestPart(Struct, frozen=True, kw_only=True, tag="request", tag_field="what"):
    """A request and its answer."""

    request: Request


class End(Struct, frozen=True, kw_only=True, tag="end", tag_field="what"):
    """Proves that nothing was cut off."""

    logs: int
    events: int
    requests: int


Part = Header | LogPart | EventPart | RequestPart | End
_DECODER: msgspec.json.Decoder[Part] = msgspec.json.Decoder(Part)


def parts_of(store: Store, run: str, *, fence: int = 0) -> Iterator[Part]:
    """Take a run apart as it stands now, also while it is driven: what is written meanwhile is left out."""
    row, requests = _still(store, run)
    yield Header(format=FORMAT, run=run, name=row.name, source=row.source, fence=max(fence, row.fence))
    logs = 0
    for attempt in store.attempts(run):
        data = store.log(run, attempt.task, attempt.number)
        if data is not None:
            logs += 1
            yield LogPart(task=attempt.task, attempt=attempt.number, data=data)
    for recorded in store.read(run):
        if recorded.number > row.last_event:
            break
        raw = events.encode(recorded)
        body = msgspec.Raw(raw.body)
        yield EventPart(number=raw.number, at_ms=raw.at_ms, kind=raw.kind, version=raw.version, body=body)
    for request in requests:
        yield RequestPart(request=request)
    yield End(logs=logs, events=row.last_event, requests=len(requests))


def _still(store: Store, run: str) -> tuple[RunRow, list[Request]]:
    """Read row and requests at one moment: an answered request without its event would be lost in the copy."""
    for _ in range(_TRIES):
        before = _row(store, run)
        requests = store.requests(run)
        if _row(store, run).last_event == before.last_event:
            return before, requests
    raise StoreError(f"run {run} changes too fast to be copied", hint=f"budwood pause {run}")


def _row(store: Store, run: str) -> RunRow:
    for row in store.runs():
        if row.id == run:
            return row
    raise NoSuchId(f"no run {run} in {store.where}")


def encoded(parts: Iterable[Part]) -> Iterator[bytes]:
    """Write parts as lines."""
    for part in parts:
        yield msgspec.json.encode(part) + b"\n"


def decoded(lines: Iterable[bytes]) -> Iterator[Part]:
    """Read lines back; the first that is none of ours is named."""
    for number, line in enumerate(lines, start=1):
        try:
            part = _DECODER.decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise UsageError(f"line {number} is not a line of an exported run: {error}") from error
        yield part


def as_recorded(part: EventPart) -> Recorded:
    """Read an event, bringing an old version up to date."""
    return events.decode(events.Raw(part.number, part.at_ms, part.kind, part.version, bytes(part.body)))


def as_log(part: LogPart) -> LogEntry:
    """Make what a commit takes."""
    return LogEntry(task=part.task, attempt=part.attempt, data=part.data)
