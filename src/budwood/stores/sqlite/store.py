"""The contract on SQLite: WAL, every commit synced, one writer at a time by `BEGIN IMMEDIATE`.

A lease is a lock file that the kernel frees when its holder dies, plus a fencing number in the database that each
commit is checked against in its own transaction. Knows the contract and `_core`; must not print, or decide anything
about a run.
"""

import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

from budwood._core.events import Recorded, encode_body
from budwood._core.ids import free_name
from budwood._core.model import RunPhase
from budwood._core.rows import AttemptRow, DependencyRow, RunRow, TaskRow
from budwood.errors import LeaseHeld, StoreConflict, StoreDamaged
from budwood.stores.base import (
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
)
from budwood.stores.columns import attempt_rows, dependency_rows, run_rows, task_rows
from budwood.stores.kept import pack
from budwood.stores.sqlite import bell, rows
from budwood.stores.sqlite.asking import put_answer, put_request, read_request, read_requests
from budwood.stores.sqlite.checks import problems
from budwood.stores.sqlite.database import Database
from budwood.stores.sqlite.faults import unwritable
from budwood.stores.sqlite.lease import RunLock, is_locked, try_lock
from budwood.stores.sqlite.reading import read_events, read_log
from budwood.stores.sqlite.wal import make_room

_PLACE = "SELECT fence, (SELECT max(number) FROM event WHERE run = ?1) FROM lease WHERE run = ?1"
_PUT_EVENT = "INSERT INTO event (run, number, at_ms, kind, version, body) VALUES (?, ?, ?, ?, ?, ?)"
_PUT_LOG = (
    "INSERT INTO log (run, task, attempt, size, data) VALUES (?, ?, ?, ?, ?) "
    "ON CONFLICT (run, task, attempt) DO UPDATE SET size = excluded.size, data = excluded.data"
)
_EXEC_WITHIN_S = 0.5
_LOOK_AGAIN_S = 0.01


class SqliteStore(Store):
    """Events in one file."""

    def __init__(self, path: Path, *, create: bool = True, file_system: str | None = None) -> None:
        self._path = path.absolute()
        self._file_system = file_system
        self._database = Database(self._path, create=create, file_system=file_system)
        self._locks: dict[Lease, RunLock] = {}

    @property
    def where(self) -> str:
        return str(self._path)

    @property
    def renew_every_s(self) -> float | None:
        return None

    @property
    def address(self) -> str:
        return str(self._path.absolute())

    def reopen(self) -> "SqliteStore":
        return SqliteStore(self._path, create=False, file_system=self._file_system)

    def _beside(self, folder: str, run: str) -> Path:
        """Name a run's file beside the store; two stores of one directory must not share theirs while a run moves."""
        store = self._path.resolve()
        return store.parent / folder / (run if store.name == "store.db" else f"{store.name}.{run}")

    def _lock_file(self, run: str) -> Path:
        return self._beside("locks", f"{run}.lock")

    def _bell_file(self, run: str) -> Path:
        with self._database.reading(run):
            self._database.number_of(run)
        return self._beside("bells", run)

    def claim(self, run: str, *, name: str, source: str, fresh: bool) -> Claim:
        check_run_id(run)
        with self._database.writing() as connection:
            if source and not fresh:
                newest = "SELECT id, name FROM run WHERE source = ? ORDER BY number DESC LIMIT 1"
                found = connection.execute(newest, (source,)).fetchone()
                if found is not None:
                    return Claim(found[0], found[1], created=False)
            if connection.execute("SELECT 1 FROM run WHERE id = ?", (run,)).fetchone():
                raise StoreConflict(f"there is already a run {run} in {self.where}")
            given = free_name(name, (taken for (taken,) in connection.execute("SELECT name FROM run")))
            made = "INSERT INTO run (id, name, source, state) VALUES (?, ?, ?, ?)"
            number = connection.execute(made, (run, given, source, RunPhase.ACTIVE.value)).lastrowid
            connection.execute("INSERT INTO lease (run, fence, holder) VALUES (?, 0, '')", (number,))
            return Claim(run, given, created=True)

    def acquire(self, run: str, holder: str, *, above: int = 0, back: bool = False) -> Lease:
        # A driver that was killed while it started a process lives on in that process until its exec, and so does its
        # lock.
        until = time.monotonic() + _EXEC_WITHIN_S
        while True:
            try:
                return self._acquire(run, holder, above=above, back=back)
            except LeaseHeld:
                if time.monotonic() > until:
                    raise
            time.sleep(_LOOK_AGAIN_S)

    def _acquire(self, run: str, holder: str, *, above: int, back: bool) -> Lease:
        lock: RunLock | None = None
        try:
            # The lock is tried inside the transaction, so that who is refused reads the winner's name, not an old one.
            with self._database.writing(run) as connection:
                number = self._database.number_of(run)
                state = "SELECT fence, holder, moved_to FROM lease WHERE run = ?"
                fence, named, moved_to = connection.execute(state, (number,)).fetchone()
                if moved_to is not None and not back:
                    raise moved_away(run, moved_to)
                lock = try_lock(self._lock_file(run))
                if lock is None:
                    raise LeaseHeld(run, holder=named)
                lease = Lease(run, max(fence, above) + 1, holder)
                taken = "UPDATE lease SET fence = ?, holder = ? WHERE run = ?"
                connection.execute(taken, (lease.fence, holder, number))
                make_room(self._path)
        except BaseException as error:
            if lock is not None:
                lock.close()
            if isinstance(error, OSError):
                raise unwritable(self._path, error) from error
            raise
        self._locks[lease] = lock
        return lease

    def renew(self, lease: Lease) -> None:
        with self._database.reading(lease.run) as connection:
            self._last_event(connection, lease)

    def release(self, lease: Lease) -> None:
        lock = self._locks.pop(lease, None)
        if lock is not None:
            lock.close()

    def retire(self, lease: Lease, moved_to: str) -> None:
        self._set_moved(lease, moved_to)
        self.release(lease)

    def readmit(self, lease: Lease) -> None:
        self._set_moved(lease, None)

    def _set_moved(self, lease: Lease, moved_to: str | None) -> None:
        with self._database.writing(lease.run) as connection:
            self._last_event(connection, lease)
            number = self._database.number_of(lease.run)
            connection.execute("UPDATE lease SET moved_to = ? WHERE run = ?", (moved_to, number))

    def moved_to(self, run: str) -> str | None:
        with self._database.reading(run) as connection:
            number = self._database.number_of(run)
            found = connection.execute("SELECT moved_to FROM lease WHERE run = ?", (number,)).fetchone()[0]
            return None if found is None else str(found)

    def holder(self, run: str) -> str | None:
        with self._database.reading(run) as connection:
            number = self._database.number_of(run)
            if not is_locked(self._lock_file(run)):
                return None
            return str(connection.execute("SELECT holder FROM lease WHERE run = ?", (number,)).fetchone()[0])

    def _last_event(self, connection: sqlite3.Connection, lease: Lease) -> int:
        """Return the number of the run's last event, or raise because the lease is no longer the run's."""
        fence, last = connection.execute(_PLACE, (self._database.number_of(lease.run),)).fetchone()
        if lease not in self._locks or fence != lease.fence:
            self.release(lease)
            raise lost(lease)
        return last or 0

    def append(self, lease: Lease, commit: Commit) -> None:
        self._database.refuse_vanished()
        with self._database.reading(lease.run):
            run = self._database.number_of(lease.run)
        # What takes long is done before the transaction, where it keeps nobody waiting.
        events = [(run, each.number, each.at_ms, *encode_body(each.event)) for each in commit.events]
        logs = [(run, each.task, each.attempt, len(each.data), pack(each.data)) for each in commit.logs if each.data]
        with self._database.writing(lease.run) as connection:
            check_place(lease.run, commit, last=self._last_event(connection, lease))
            connection.executemany(_PUT_EVENT, events)
            rows.put_rows(connection, run, commit.rows)
            if logs:
                connection.executemany(_PUT_LOG, logs)
            for answer in commit.answers:
                put_answer(connection, run, run=lease.run, answer=answer)

    def read(self, run: str, after: int = 0) -> Iterator[Recorded]:
        return read_events(self._database, run, after)

    def runs(self) -> list[RunRow]:
        with self._database.reading() as connection:
            return run_rows(connection.execute(rows.SELECT_RUNS))

    def tasks(self, run: str) -> list[TaskRow]:
        with self._database.reading(run) as connection:
            return task_rows(connection.execute(rows.SELECT_TASKS, (self._database.number_of(run),)))

    def attempts(self, run: str, task: int | None = None) -> list[AttemptRow]:
        with self._database.reading(run) as connection:
            number = self._database.number_of(run)
            if task is None:
                return attempt_rows(connection.execute(rows.SELECT_ATTEMPTS, (number,)))
            return attempt_rows(connection.execute(rows.SELECT_ATTEMPTS_OF_TASK, (number, task)))

    def dependencies(self, run: str) -> list[DependencyRow]:
        with self._database.reading(run) as connection:
            return dependency_rows(connection.execute(rows.SELECT_DEPENDENCIES, (self._database.number_of(run),)))

    def log(self, run: str, task: int, attempt: int) -> bytes | None:
        return read_log(self._database, run, task, attempt)

    def ask(self, run: str, kind: str, *, body: str = "", key: str) -> Request:
        request = put_request(self._database, run, kind, body=body, key=key)
        self.ring(run)
        return request

    def request(self, run: str, number: int) -> Request:
        return read_request(self._database, run, number)

    def requests(self, run: str) -> list[Request]:
        return read_requests(self._database, run, pending=False)

    def pending(self, run: str) -> list[Request]:
        return read_requests(self._database, run, pending=True)

    def listen(self, run: str) -> Bell:
        try:
            return bell.PipeBell(self._bell_file(run))
        except OSError as error:
            raise unwritable(self._path, error) from error

    def ring(self, run: str) -> None:
        try:
            bell.ring(self._bell_file(run))
        except OSError as error:
            raise unwritable(self._path, error) from error

    def check(self) -> list[str]:
        try:
            with self._database.reading() as connection:
                return problems(connection)
        except StoreDamaged as error:
            return [error.message]

    def close(self) -> None:
        for lease in list(self._locks):
            self.release(lease)
        self._database.connection.close()
