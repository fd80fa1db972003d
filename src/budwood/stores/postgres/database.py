"""One connection that comes back when it is lost, and the numbers that stand for runs in its tables.

A server that is restarted, or a network that is cut, is waited for, up to a limit. Knows how PostgreSQL fails and what
that means to a person; must not know leases, events or rows.
"""

import time
from collections.abc import Callable
from contextlib import closing, suppress
from typing import TypeVar

import msgspec
import psycopg

from budwood.errors import NoSuchId, StoreError
from budwood.stores.postgres.connect import Address, Connection, connect, read_address
from budwood.stores.postgres.faults import damaged, explain, is_lost, refused
from budwood.stores.postgres.migrate import prepare, version_of

Result = TypeVar("Result")

_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.05, 1.0
_WORTH_SAYING_S = 1.0


class Database:
    """The server, reached."""

    def __init__(self, address: Address, *, create: bool, patience_s: float, say: Callable[[str], None]) -> None:
        self.address = address
        self._patience_s = patience_s
        self._say = say
        self._numbers: dict[str, int] = {}
        self._is_closed = False
        self.connection = self.opened()
        try:
            prepare(self.connection, address, create=create)
        except psycopg.Error as error:
            self.connection.close()
            raise explain(error, address.shown) from error
        except BaseException:
            self.connection.close()
            raise

    def opened(self) -> Connection:
        """Open one more connection; a server that does not take it at once is an error."""
        return _opened(self.address)

    def reading(self, action: Callable[[Connection], Result], *, run: str | None = None) -> Result:
        """Read something; from the beginning if the connection is lost on the way."""

        def read(connection: Connection, _: bool) -> Result:
            try:
                return action(connection)
            except msgspec.MsgspecError as error:
                raise damaged(self.address.shown, str(error), run=run) from error

        return self.writing(read, run=run)

    def writing(self, action: Callable[[Connection, bool], Result], *, run: str | None = None) -> Result:
        """Write something.

        If the connection is lost, nobody knows whether it was written: the action is called again, told so, and must
        find out.
        """
        try:
            return action(self.connection, False)
        except psycopg.Error as error:
            if not is_lost(error):
                raise explain(error, self.address.shown, run=run) from error
        found: list[Result] = []
        self.connection = self.reopened(self.connection, lambda connection: found.append(action(connection, True)))
        return found[0]

    def trying(self, action: Callable[[Connection], object], *, connection: Connection | None = None) -> None:
        """Do what may as well not be done: a server that is not there is not waited for."""
        with suppress(psycopg.Error):
            action(connection or self.connection)

    def reopened(self, lost: Connection, first: Callable[[Connection], object]) -> Connection:
        """Return a new connection for one that was lost, once the server takes it and the first action has worked."""
        lost.close()
        if self._is_closed:
            raise StoreError(f"this store was closed: {self.address.shown}")
        began_s, wait_s, said = time.monotonic(), _FIRST_WAIT_S, False
        while True:
            try:
                found = self._opened_with(first)
            except psycopg.Error as error:
                if not is_lost(error):
                    raise explain(error, self.address.shown) from error
                waited_s = time.monotonic() - began_s
                if waited_s + wait_s > self._patience_s:
                    raise self._given_up(error) from error
                if waited_s > _WORTH_SAYING_S and not said:
                    said = True
                    self._say(f"waiting for the database: {refused(error, self.address.shown).message}")
            else:
                if said:
                    self._say(f"the database is back after {time.monotonic() - began_s:.0f} s")
                return found
            time.sleep(wait_s)
            wait_s = min(2 * wait_s, _LONGEST_WAIT_S)

    def _opened_with(self, first: Callable[[Connection], object]) -> Connection:
        connection = connect(self.address)
        try:
            first(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _given_up(self, error: psycopg.Error) -> StoreError:
        return StoreError(
            f"{refused(error, self.address.shown).message}; waited {self._patience_s:.0f} s for it",
            hint="when the database is back: budwood resume; what runs goes on until then",
        )

    def number_of(self, run: str) -> int:
        """Return the number that stands for the run."""
        number = self._numbers.get(run)
        if number is None:
            ask = "SELECT number FROM run WHERE id = %s"
            found = self.reading(lambda connection: connection.execute(ask, (run,)).fetchone(), run=run)
            if found is None:
                raise NoSuchId(f"no run {run} in {self.address.shown}")
            number = self._numbers[run] = int(found[0])
        return number

    def close(self) -> None:
        """Let go of the connection; none is opened any more."""
        self._is_closed = True
        self.connection.close()


def has_store(address: str) -> bool:
    """Look whether there is a store at an address, and change nothing."""
    read = read_address(address)
    with closing(_opened(read)) as connection:
        try:
            return bool(version_of(connection, read))
        except psycopg.Error as error:
            raise explain(error, read.shown) from error


def _opened(address: Address) -> Connection:
    try:
        return connect(address)
    except psycopg.OperationalError as error:
        raise refused(error, address.shown) from error
