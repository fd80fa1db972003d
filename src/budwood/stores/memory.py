"""A store that lives as long as its world does: for tests, dry runs and demonstrations.

Several stores on one world behave as several processes on one database do. Knows the contract and `_core`; must not
know files.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Lock

import msgspec

from budwood._core.events import Recorded
from budwood._core.ids import free_name
from budwood._core.model import RunPhase
from budwood._core.rows import AttemptRow, DependencyRow, RunRow, TaskRow
from budwood.errors import LeaseHeld, NoSuchId, StoreConflict
from budwood.stores.base import (
    Answer,
    Bell,
    Claim,
    Commit,
    Lease,
    Request,
    Store,
    check_place,
    check_run_id,
    lost,
    moved_away,
    not_waiting,
)


@dataclass
class _Run:
    row: RunRow
    events: list[Recorded] = field(default_factory=list)
    tasks: dict[int, TaskRow] = field(default_factory=dict)
    attempts: dict[tuple[int, int], AttemptRow] = field(default_factory=dict)
    dependencies: dict[tuple[int, int], DependencyRow] = field(default_factory=dict)
    logs: dict[tuple[int, int], bytes] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)
    bells: list["_MemoryBell"] = field(default_factory=list)
    lease: Lease | None = None
    fence: int = 0
    moved_to: str | None = None


@dataclass
class MemoryWorld:
    """What several memory stores share; the lock makes each of their operations atomic."""

    lock: Lock = field(default_factory=Lock)
    runs: dict[str, _Run] = field(default_factory=dict)

    def kill_holder(self, lease: Lease) -> None:
        """Let the holder of this lease be dead, as if its process had been killed."""
        with self.lock:
            if self.runs[lease.run].lease == lease:
                self.runs[lease.run].lease = None


class _MemoryBell(Bell):
    def __init__(self, run: _Run) -> None:
        self._run = run
        self._out, self._in = os.pipe()
        os.set_blocking(self._out, False)
        os.set_blocking(self._in, False)

    def fileno(self) -> int:
        return self._out

    def drain(self) -> None:
        with suppress(BlockingIOError):
            while os.read(self._out, 4096):
                pass

    def ring(self) -> None:
        with suppress(BlockingIOError):  # a full pipe will wake the listener anyway
            os.write(self._in, b"!")

    def close(self) -> None:
        if self in self._run.bells:
            self._run.bells.remove(self)
            os.close(self._out)
            os.close(self._in)


class MemoryStore(Store):
    """Events in a dictionary."""

    def __init__(self, world: MemoryWorld | None = None) -> None:
        self._world = world or MemoryWorld()
        self._leases: list[Lease] = []

    @property
    def where(self) -> str:
        return "memory:"

    @property
    def renew_every_s(self) -> float | None:
        return None

    def reopen(self) -> "MemoryStore":
        return MemoryStore(self._world)

    def _run(self, run: str) -> _Run:
        try:
            return self._world.runs[run]
        except KeyError:
            raise NoSuchId(f"no run {run} in {self.where}") from None

    def _held(self, lease: Lease) -> _Run:
        run = self._run(lease.run)
        if run.lease != lease or lease not in self._leases:
            raise lost(lease)
        return run

    def claim(self, run: str, *, name: str, source: str, fresh: bool) -> Claim:
        check_run_id(run)
        with self._world.lock:
            rows = [each.row for each in self._world.runs.values()]
            if source and not fresh:
                for row in reversed(rows):
                    if row.source == source:
                        return Claim(row.id, row.name, created=False)
            if run in self._world.runs:
                raise StoreConflict(f"there is already a run {run} in {self.where}")
            given = free_name(name, [row.name for row in rows])
            self._world.runs[run] = _Run(RunRow(id=run, name=given, phase=RunPhase.ACTIVE, source=source))
            return Claim(run, given, created=True)

    def acquire(self, run: str, holder: str, *, above: int = 0, back: bool = False) -> Lease:
        with self._world.lock:
            found = self._run(run)
            if found.lease is not None:
                raise LeaseHeld(run, holder=found.lease.holder)
            if found.moved_to is not None and not back:
                raise moved_away(run, found.moved_to)
            found.fence = max(found.fence, above) + 1
            found.lease = Lease(run, found.fence, holder)
            self._leases.append(found.lease)
            return found.lease

    def renew(self, lease: Lease) -> None:
        with self._world.lock:
            self._held(lease)

    def release(self, lease: Lease) -> None:
        with self._world.lock:
            if lease in self._leases:
                self._leases.remove(lease)
                if self._run(lease.run).lease == lease:
                    self._run(lease.run).lease = None

    def retire(self, lease: Lease, moved_to: str) -> None:
        with self._world.lock:
            run = self._held(lease)
            run.moved_to = moved_to
            run.lease = None

    def readmit(self, lease: Lease) -> None:
        with self._world.lock:
            self._held(lease).moved_to = None

    def moved_to(self, run: str) -> str | None:
        with self._world.lock:
            return self._run(run).moved_to

    def holder(self, run: str) -> str | None:
        with self._world.lock:
            lease = self._run(run).lease
            return lease.holder if lease else None

    def append(self, lease: Lease, commit: Commit) -> None:
        with self._world.lock:
            run = self._held(lease)
            check_place(lease.run, commit, last=len(run.events))
            requests = _answered(lease.run, run.requests, commit.answers)
            rows = commit.rows
            gone = frozenset(rows.gone_dependencies)
            run.events.extend(commit.events)
            run.row = msgspec.structs.replace(rows.run, name=run.row.name, source=run.row.source)
            run.tasks.update((task.number, task) for task in rows.tasks)
            run.attempts.update(((each.task, each.number), each) for each in rows.attempts)
            if gone:
                run.dependencies = {place: row for place, row in run.dependencies.items() if row.task not in gone}
            run.dependencies.update(((row.task, row.needs), row) for row in rows.dependencies)
            run.logs.update(((entry.task, entry.attempt), entry.data) for entry in commit.logs if entry.data)
            run.requests = requests

    def read(self, run: str, after: int = 0) -> Iterator[Recorded]:
        found = self._run(run)
        return (found.events[index] for index in _growing(found.events, after))

    def runs(self) -> list[RunRow]:
        with self._world.lock:
            return [run.row for run in self._world.runs.values()]

    def tasks(self, run: str) -> list[TaskRow]:
        with self._world.lock:
            return [row for _, row in sorted(self._run(run).tasks.items())]

    def attempts(self, run: str, task: int | None = None) -> list[AttemptRow]:
        with self._world.lock:
            rows = sorted(self._run(run).attempts.items())
        return [row for place, row in rows if task is None or place[0] == task]

    def dependencies(self, run: str) -> list[DependencyRow]:
        with self._world.lock:
            return [row for _, row in sorted(self._run(run).dependencies.items())]

    def log(self, run: str, task: int, attempt: int) -> bytes | None:
        with self._world.lock:
            return self._run(run).logs.get((task, attempt))

    def ask(self, run: str, kind: str, *, body: str = "", key: str) -> Request:
        with self._world.lock:
            requests = self._run(run).requests
            request = next((each for each in requests if each.key == key), None)
            if request is None:
                request = Request(id=len(requests) + 1, run=run, kind=kind, key=key, body=body)
                requests.append(request)
        self.ring(run)
        return request

    def request(self, run: str, number: int) -> Request:
        for request in self.requests(run):
            if request.id == number:
                return request
        raise NoSuchId(f"run {run} has no request {number}")

    def requests(self, run: str) -> list[Request]:
        with self._world.lock:
            return list(self._run(run).requests)

    def pending(self, run: str) -> list[Request]:
        return [request for request in self.requests(run) if request.state == "pending"]

    def listen(self, run: str) -> Bell:
        with self._world.lock:
            found = self._run(run)
            bell = _MemoryBell(found)
            found.bells.append(bell)
            return bell

    def ring(self, run: str) -> None:
        with self._world.lock:
            for bell in self._run(run).bells:
                bell.ring()

    def check(self) -> list[str]:
        return []

    def close(self) -> None:
        for lease in list(self._leases):
            self.release(lease)


def _growing(events: list[Recorded], start: int) -> Iterator[int]:
    while start < len(events):
        yield start
        start += 1


def _answered(run: str, requests: list[Request], answers: tuple[Answer, ...]) -> list[Request]:
    changed = list(requests)
    for answer in answers:
        place = answer.request - 1
        if not 0 <= place < len(changed) or changed[place].state != "pending":
            raise not_waiting(run, answer.request)
        changed[place] = msgspec.structs.replace(changed[place], state=answer.state, answer=answer.text)
    return changed
