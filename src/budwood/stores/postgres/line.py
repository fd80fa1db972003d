"""A connection that stays open and is opened again when it breaks, with everything that was said on it said again.

What holds only as long as a connection does hangs on one: locks that show that somebody is there, and channels that
are listened to. Knows connections; must not know what is said on them.
"""

import select
from collections.abc import Callable
from typing import TypeVar

import psycopg

from budwood.stores.postgres.connect import Connection
from budwood.stores.postgres.database import Database
from budwood.stores.postgres.faults import explain, is_lost

Result = TypeVar("Result")
Words = Callable[[Connection], object]


class Line:
    """One connection after the other."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._said: list[Words] = []
        self.connection = database.opened()

    def say(self, words: Words) -> None:
        """Say something now, and again on every new connection."""
        self._said.append(words)
        try:
            words(self.connection)
        except psycopg.Error as error:
            if not is_lost(error):
                raise explain(error, self._database.address.shown) from error
            self.reopen()

    def ask(self, question: Callable[[Connection], Result]) -> Result:
        """Say something once."""
        try:
            return question(self.connection)
        except psycopg.Error as error:
            raise explain(error, self._database.address.shown) from error

    def unsay(self, words: Words, *, instead: Words) -> None:
        """Take back what was said."""
        self._said.remove(words)
        self._database.trying(instead, connection=self.connection)

    def keep(self, words: Words) -> None:
        """Remember what to say on a new connection; on this one it was said already."""
        self._said.append(words)

    def heard(self) -> bool:
        """Take what others notified us of; False if the connection was lost, and is a new one now."""
        readable = select.poll()
        try:
            readable.register(self.connection.fileno(), select.POLLIN)
            # Until nothing more comes: the end of a connection comes behind what the server said last.
            while readable.poll(0):
                for _ in self.connection.notifies(timeout=0):
                    pass
        except psycopg.Error as error:
            if not is_lost(error):
                raise explain(error, self._database.address.shown) from error
            self.reopen()
            return False
        return True

    def reopen(self) -> None:
        """Come back, when the server is there."""

        def say_all(connection: Connection) -> None:
            for words in self._said:
                words(connection)

        self.connection = self._database.reopened(self.connection, say_all)

    def close(self) -> None:
        """Hang up; harmless if that was done before."""
        self.connection.close()
