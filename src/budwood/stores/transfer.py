"""Runs that leave a store and arrive in another: as a file of JSON lines, or directly.

Everything goes through the contract, so any two backends can be at the ends. Knows the contract; must not know backends
or the machine: who imports passes the function that refolds events into rows.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import IO

from budwood._core.events import Recorded
from budwood.errors import StoreTooNew, UsageError
from budwood.stores.base import Claim, Request, Store
from budwood.stores.intake import Fold, Intake
from budwood.stores.parts import (
    FORMAT,
    End,
    EventPart,
    Header,
    LogPart,
    Part,
    RequestPart,
    as_log,
    as_recorded,
    decoded,
    encoded,
    parts_of,
)

HOLDER = "budwood store import"


def export_run(store: Store, run: str, out: IO[bytes]) -> None:
    """Write a run as JSON lines. It may be driven meanwhile; the copy is of one moment."""
    for line in encoded(parts_of(store, run)):
        out.write(line)


def import_run(store: Store, lines: Iterable[bytes], *, fold: Fold, holder: str = HOLDER) -> Claim:
    """Take an exported run in, under its own id and a free name.

    Its events appear in one commit, when all of it was read and refolded. If the run is here already, what is missing
    is added; if it went another way here, that is a StoreConflict and nothing is changed.
    """
    with _received(store, decoded(lines), fold=fold, holder=holder) as claim:
        return claim


def move_run(source: Store, target: Store, run: str, *, fold: Fold, holder: str = HOLDER) -> Claim:
    """Move a run that nobody drives: it can then be driven in the target only, and read in both.

    Killed at any point, it can be called again: the source is retired after the target has everything, and not before.
    """
    if source.where == target.where and source.where != "memory:":
        raise UsageError(f"run {run} cannot be moved from {source.where} to itself")
    lease = source.acquire(run, holder)
    try:
        # Both leases are held while the run is in both stores: in between nobody can drive it anywhere.
        with _received(target, parts_of(source, run, fence=lease.fence), fold=fold, holder=holder) as claim:
            source.retire(lease, target.where)
            return claim
    finally:
        source.release(lease)


@contextmanager
def _received(store: Store, parts: Iterator[Part], *, fold: Fold, holder: str) -> Iterator[Claim]:
    """Take everything in and keep the lease while the caller finishes on the other side."""
    header = next(parts, None)
    if not isinstance(header, Header):
        raise UsageError("this is not an exported run: it does not begin with a header")
    if header.format > FORMAT:
        raise StoreTooNew(
            f"run {header.run} was exported by a newer budwood (format {header.format}; this one knows {FORMAT})",
            hint="pip install --upgrade budwood",
        )
    intake = Intake(store, header, holder=holder)
    try:
        events, requests = _collect(header, parts, intake)
        yield intake.finish(events, requests, fold=fold)
    finally:
        intake.close()


def _collect(header: Header, parts: Iterator[Part], intake: Intake) -> tuple[list[Recorded], list[Request]]:
    events: list[Recorded] = []
    requests: list[Request] = []
    logs = 0
    for part in parts:
        match part:
            case LogPart():
                intake.take_log(as_log(part))
                logs += 1
            case EventPart():
                events.append(as_recorded(part))
            case RequestPart(request=request):
                requests.append(request)
            case End():
                if (part.logs, part.events, part.requests) != (logs, len(events), len(requests)):
                    break
                if next(parts, None) is not None:
                    raise UsageError(f"something follows the end of run {header.run}", hint="import one run at a time")
                return events, requests
            case Header():
                raise UsageError(f"another run begins inside run {header.run}", hint="import one run at a time")
    raise UsageError(
        f"the export of run {header.run} is not whole; its events were not taken in", hint="export it again"
    )
