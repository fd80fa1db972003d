"""The contract on PostgreSQL: one schema, a commit in one message, a lease by the server's clock.

Every commit is checked against the fencing number inside its own transaction, under a lock on the lease's row. A
connection that is lost is opened again; what may or may not have been written then is looked up, never guessed. Knows
the contract and `_core`; must not print, or decide anything about a run.
"""

from collections.abc import Callable, Iterator
from functools import partial

import psycopg

from budwood._core.events import Recorded
from budwood._core.ids import free_name
from budwood._core.model import RunPhase
from budwood._core.rows import AttemptRow, DependencyRow, RunRow, TaskRow
from budwood.errors import LeaseHeld, LeaseLost, StoreConflict, StoreDamaged
from budwood.stores.base import (
    Bell,
    Claim,
    Commit,
    Lease,
    Request,
    Store,
    check_place,
    check_run_id,
    elsewhere,
    lost,
    moved_away,
    not_waiting,
)
from budwood.stores.columns import attempt_rows, dependency_rows, run_rows, task_rows
from budwood.stores.postgres import asking, leases, rows
from budwood.stores.postgres.bell import Ear, listen
from budwood.stores.postgres.checks import problems
from budwood.stores.postgres.commits import Message, is_written, messages, send
from budwood.stores.postgres.connect import Connection, read_address
from budwood.stores.postgres.database import Database
from budwood.stores.postgres.line import Line
from budwood.stores.postgres.reading import read_events, read_log
from budwood.stores.postgres.text import escape, restore

PATIENCE_S = 300.0
_CLAIM = "SELECT pg_advisory_xact_lock(lock_of('claim'))"
_NEWEST = "SELECT id, name FROM run WHERE source = %s ORDER BY number DESC LIMIT 1"
_MAKE = (
    "WITH made AS (INSERT INTO run (id, name, source, state) VALUES (%s, %s, %s, %s) RETURNING number) "
    "INSERT INTO lease (run) SELECT number FROM made"
)
_LOST, _ELSEWHERE, _ANSWERED = "BW001", "BW002", "BW003"


class PostgresStore(Store):
    """Events in a database."""

    def __init__(self, address: str, *, create: bool = True, patience_s: float = PATIENCE_S) -> None:
        self._address = address
        self._patience_s = patience_s
        self._database = Database(read_address(address), create=create, patience_s=patience_s, say=self._tell)
        self._lines: dict[Lease, Line] = {}
        self._ears: dict[str, Ear] = {}
        self._gone: dict[str, leases.Sign] = {}
        """What the leases of runs showed whose drivers were waited for in vain."""

    @property
    def where(self) -> str:
        return self._database.address.shown

    @property
    def renew_every_s(self) -> float | None:
        return leases.RENEW_EVERY_S

    def _tell(self, text: str) -> None:
        self.say(text)  # looked up each time: it is set after this was made

    @property
    def address(self) -> str:
        return self._address

    def reopen(self) -> "PostgresStore":
        return PostgresStore(self._address, create=False, patience_s=self._patience_s)

    def claim(self, run: str, *, name: str, source: str, fresh: bool) -> Claim:
        check_run_id(run)
        action = partial(self._claim, run=run, name=escape(name), source=escape(source), fresh=fresh)
        return self._database.writing(action)

    def _claim(self, connection: Connection, again: bool, *, run: str, name: str, source: str, fresh: bool) -> Claim:
        with connection.transaction():
            connection.execute(_CLAIM)
            mine = connection.execute("SELECT name FROM run WHERE id = %s", (run,)).fetchone()
            if again and mine is not None:  # it was made before the connection was lost
                return Claim(run, restore(mine[0]), created=True)
            if source and not fresh:
                found = connection.execute(_NEWEST, (source,)).fetchone()
                if found is not None:
                    return Claim(found[0], restore(found[1]), created=False)
            if mine is not None:
                raise StoreConflict(f"there is already a run {run} in {self.where}")
            given = free_name(name, (taken for (taken,) in connection.execute("SELECT name FROM run")))
            connection.execute(_MAKE, (run, given, source, RunPhase.ACTIVE.value))
            return Claim(run, restore(given), created=True)

    # --- leases ---

    def acquire(self, run: str, holder: str, *, above: int = 0, back: bool = False) -> Lease:
        number = self._database.number_of(run)
        seen, is_free = leases.settle(partial(self._look, run), patient=True, gone=self._gone.get(run))
        if seen.moved_to is not None and not back:
            raise moved_away(run, seen.moved_to)
        if not is_free:
            raise LeaseHeld(run, holder=seen.holder or "another")
        line = Line(self._database)
        try:
            take = partial(leases.take, run=number, lease=Lease(run, above, holder), seen=seen, back=back)
            lease = line.ask(take)
        except BaseException:
            line.close()
            raise
        line.keep(partial(leases.come_back, run=number, lease=lease))
        self._lines[lease] = line
        return lease

    def _look(self, run: str) -> leases.Seen:
        number = self._database.number_of(run)
        return self._database.reading(lambda connection: leases.look(connection, number), run=run)

    def renew(self, lease: Lease) -> None:
        self._as_holder(lease, leases.renew)

    def release(self, lease: Lease) -> None:
        if lease in self._lines:
            number = self._database.number_of(lease.run)
            # Where the server is not there, the lease runs out by itself.
            self._database.trying(partial(leases.release, run=number, lease=lease))
            self._lines.pop(lease).close()

    def retire(self, lease: Lease, moved_to: str) -> None:
        self._as_holder(lease, partial(leases.retire, moved_to=moved_to))
        self._lines.pop(lease).close()

    def readmit(self, lease: Lease) -> None:
        self._as_holder(lease, leases.readmit)

    def _as_holder(self, lease: Lease, action: Callable[[Connection, int, Lease], bool]) -> None:
        """Change the lease's row, or raise because the lease is no longer the run's."""
        number = self._held(lease)
        if not self._database.writing(lambda connection, again: action(connection, number, lease), run=lease.run):
            raise self._dropped(lease)

    def _held(self, lease: Lease) -> int:
        if lease not in self._lines:
            raise lost(lease)
        return self._database.number_of(lease.run)

    def _dropped(self, lease: Lease) -> LeaseLost:
        """Let go of a lease that another has."""
        self._lines.pop(lease).close()
        return lost(lease)

    def moved_to(self, run: str) -> str | None:
        return self._look(run).moved_to

    def holder(self, run: str) -> str | None:
        seen, is_free = leases.settle(partial(self._look, run), patient=False, gone=self._gone.get(run))
        if not is_free:
            return seen.holder
        self._gone[run] = seen.sign  # who looks and then drives waits once
        return None

    # --- commits ---

    def append(self, lease: Lease, commit: Commit) -> None:
        run = self._held(lease)
        check_place(lease.run, commit, last=commit.after)
        # What takes long is done before the transaction, where it keeps nobody waiting.
        sent = messages(run, lease.fence, commit)
        action = partial(self._append, lease=lease, run=run, commit=commit, sent=sent)
        self._database.writing(action, run=lease.run)

    def _append(
        self, connection: Connection, again: bool, *, lease: Lease, run: int, commit: Commit, sent: list[Message]
    ) -> None:
        try:
            send(connection, sent)
        except psycopg.DatabaseError as error:
            if error.sqlstate == _LOST:
                raise self._dropped(lease) from error
            if error.sqlstate not in (_ELSEWHERE, _ANSWERED):
                raise
            # The first time it may have been written, and only the answer was lost; perhaps just now, by a process of
            # the server that had not noticed. Whoever holds the lease is the only one who writes: it is ours or not.
            if again and is_written(connection, run, commit):
                return
            number = int(error.diag.message_detail or 0)
            if error.sqlstate == _ANSWERED:
                raise not_waiting(lease.run, number) from error
            raise elsewhere(lease.run, commit, last=number) from error

    def read(self, run: str, after: int = 0) -> Iterator[Recorded]:
        return read_events(self._database, run, after)

    def runs(self) -> list[RunRow]:
        return self._database.reading(
            lambda connection: run_rows(rows.run_values(connection.execute(rows.SELECT_RUNS)))
        )

    def tasks(self, run: str) -> list[TaskRow]:
        number = self._database.number_of(run)
        return self._database.reading(
            lambda connection: task_rows(rows.task_values(connection.execute(rows.SELECT_TASKS, (number,)))), run=run
        )

    def attempts(self, run: str, task: int | None = None) -> list[AttemptRow]:
        number = self._database.number_of(run)
        question, values = (
            (rows.SELECT_ATTEMPTS, (number,)) if task is None else (rows.SELECT_ATTEMPTS_OF_TASK, (number, task))
        )
        return self._database.reading(
            lambda connection: attempt_rows(rows.attempt_values(connection.execute(question, values))), run=run
        )

    def dependencies(self, run: str) -> list[DependencyRow]:
        number = self._database.number_of(run)
        return self._database.reading(
            lambda connection: dependency_rows(connection.execute(rows.SELECT_DEPENDENCIES, (number,))), run=run
        )

    def log(self, run: str, task: int, attempt: int) -> bytes | None:
        return read_log(self._database, run, task, attempt)

    # --- requests ---

    def ask(self, run: str, kind: str, *, body: str = "", key: str) -> Request:
        return asking.put_request(self._database, run, kind, body=body, key=key)

    def request(self, run: str, number: int) -> Request:
        return asking.read_request(self._database, run, number)

    def requests(self, run: str) -> list[Request]:
        return asking.read_requests(self._database, run, pending=False)

    def pending(self, run: str) -> list[Request]:
        return asking.read_requests(self._database, run, pending=True)

    def listen(self, run: str) -> Bell:
        number = self._database.number_of(run)
        # A driver listens on the line that shows that it is there: when that breaks, it is woken and comes back.
        mine = next((line for lease, line in self._lines.items() if lease.run == run), None)
        return listen(self._database, number, "asked", line=mine)

    def ring(self, run: str) -> None:
        asking.ring(self._database, run)

    def wait(self, run: str, *, after: int, timeout_s: float) -> bool:
        if run not in self._ears:
            self._ears[run] = Ear(self._database, self._database.number_of(run))
        return self._ears[run].wait(after, timeout_s=timeout_s)

    def check(self) -> list[str]:
        try:
            return self._database.reading(problems)
        except StoreDamaged as error:
            return [error.message]

    def close(self) -> None:
        for lease in list(self._lines):
            self.release(lease)
        for ear in self._ears.values():
            ear.close()
        self._ears.clear()
        self._database.close()
