"""A run on its way into a store: nothing is touched before it is whole, unless its logs are too large to wait for that.

Knows the contract; must not know backends, files or what events mean.
"""

from collections.abc import Callable, Iterable, Sequence

import msgspec

from budwood._core.events import Recorded
from budwood._core.rows import Rows, RunRow
from budwood.errors import StoreConflict
from budwood.stores.base import Answer, Claim, Commit, Lease, LogEntry, Request, Store
from budwood.stores.parts import Header

Fold = Callable[[Iterable[Recorded]], Rows]
FLUSH_BYTES = 64 * 1024 * 1024


class Intake:
    """Collects logs, then takes events and requests in one commit; continues where an earlier one was killed."""

    def __init__(self, store: Store, header: Header, *, holder: str, flush_bytes: int = FLUSH_BYTES) -> None:
        self._store = store
        self._header = header
        self._holder = holder
        self._flush_bytes = flush_bytes
        self._lease: Lease | None = None
        self._logs: list[LogEntry] = []
        self._waiting_bytes = 0
        self._created = False

    def take_log(self, entry: LogEntry) -> None:
        """Keep a log for the commit; write what has come so far once that is much."""
        self._logs.append(entry)
        self._waiting_bytes += len(entry.data)
        if self._waiting_bytes >= self._flush_bytes:
            # Logs alone do not make a run: until its events are here, there is nothing that could be driven.
            lease, row = self._leased(), self._row()
            self._store.append(lease, self._commit(row.last_event, rows=Rows(run=row)))

    def finish(self, events: Sequence[Recorded], requests: Sequence[Request], *, fold: Fold) -> Claim:
        """Write what the store has not yet, or raise StoreConflict where it has something else."""
        refolded = fold(events) if events else None
        lease, row = self._leased(), self._row()
        last = self._compare(events)
        answers = self._put_requests(requests)
        rows, missing = Rows(run=row), tuple(events[last:])
        if missing and refolded is not None:
            everywhere = tuple(task.number for task in refolded.tasks)
            rows = msgspec.structs.replace(refolded, gone_dependencies=everywhere)
        self._store.append(lease, self._commit(last, rows=rows, events=missing, answers=answers))
        self._store.readmit(lease)
        return Claim(row.id, row.name, created=self._created)

    def close(self) -> None:
        """Give the lease back."""
        if self._lease:
            self._store.release(self._lease)

    def _leased(self) -> Lease:
        if self._lease is None:
            header = self._header
            if not any(row.id == header.run for row in self._store.runs()):
                self._store.claim(header.run, name=header.name, source=header.source, fresh=True)
                self._created = True
            self._lease = self._store.acquire(header.run, self._holder, above=header.fence, back=True)
        return self._lease

    def _row(self) -> RunRow:
        return next(row for row in self._store.runs() if row.id == self._header.run)

    def _commit(
        self, after: int, *, rows: Rows, events: tuple[Recorded, ...] = (), answers: tuple[Answer, ...] = ()
    ) -> Commit:
        logs = tuple(self._logs)
        self._logs.clear()
        self._waiting_bytes = 0
        return Commit(after=after, events=events, rows=rows, logs=logs, answers=answers)

    def _compare(self, events: Sequence[Recorded]) -> int:
        """Return how many events the store has; those that both have must be equal."""
        last = 0
        for recorded in self._store.read(self._header.run):
            last = recorded.number
            if last <= len(events) and recorded != events[last - 1]:
                raise StoreConflict(
                    f"run {self._header.run} is in {self._store.where} already, and went another way there"
                    f" from event {last} on; nothing was changed",
                    hint="keep one of the two; a run cannot be driven in two stores",
                )
        return last

    def _put_requests(self, requests: Sequence[Request]) -> tuple[Answer, ...]:
        """Ask again what was asked, under the same numbers; return the answers that are still to be given."""
        run = self._header.run
        here = self._store.requests(run)
        for mine, theirs in zip(here, requests, strict=False):
            if (mine.id, mine.key, mine.kind) != (theirs.id, theirs.key, theirs.kind):
                raise StoreConflict(f"request {mine.id} of run {run} is another one in {self._store.where}")
        for request in requests[len(here) :]:
            self._store.ask(run, request.kind, body=request.body, key=request.key)
        waiting = {request.id for request in self._store.pending(run)}
        return tuple(
            Answer(request=request.id, state=request.state, text=request.answer)
            for request in requests
            if request.state != "pending" and request.id in waiting
        )
