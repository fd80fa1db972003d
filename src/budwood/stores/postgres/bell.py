"""Wakes a driver, or one who follows a run, by LISTEN and NOTIFY.

The notification carries nothing and may be lost while a connection is: what was asked or written is in the tables, and
whoever is woken looks there. Knows lines, channels and descriptors; must not know what is asked or written.
"""

import selectors
import time

from psycopg import sql

from budwood.stores.base import Bell
from budwood.stores.postgres.connect import Connection
from budwood.stores.postgres.database import Database
from budwood.stores.postgres.line import Line, Words

_CHANNEL = "SELECT channel_of(%s, %s)"
_FOLLOW = "SELECT pg_advisory_lock_shared(lock_of(format('followed %%s', %s::integer)))"
_HAS_NEWS = "SELECT EXISTS (SELECT FROM event WHERE run = %s AND number > %s)"


class NotifyBell(Bell):
    """Listens to one channel."""

    def __init__(self, line: Line, channel: str, *, owns_line: bool) -> None:
        self._line = line
        self._owns_line = owns_line
        self._channel = sql.Identifier(channel)
        line.say(self._listen)
        # A connection that comes back has another descriptor. That of a selector stays, and is readable when one of
        # those in it is.
        self._selector: selectors.BaseSelector | None = selectors.DefaultSelector()
        self._watch()

    def fileno(self) -> int:
        descriptor = self._open.fileno()  # type: ignore[attr-defined]  # epoll's and kqueue's have one
        return int(descriptor)

    def drain(self) -> None:
        # One that was lost is readable, too: whoever is woken by that looks for what it missed meanwhile.
        if not self._line.heard():
            self._watch()

    def wait(self, timeout_s: float) -> None:
        """Sleep until it rings, at most so long."""
        self._open.select(timeout_s)

    def close(self) -> None:
        if self._selector is not None:
            self._selector.close()
            self._selector = None
            if self._owns_line:
                self._line.close()
            else:
                self._line.unsay(self._listen, instead=self._unlisten)

    @property
    def _open(self) -> selectors.BaseSelector:
        if self._selector is None:
            raise ValueError("this bell is closed")
        return self._selector

    def _watch(self) -> None:
        for descriptor in list(self._open.get_map()):
            self._open.unregister(descriptor)
        self._open.register(self._line.connection.fileno(), selectors.EVENT_READ)

    def _listen(self, connection: Connection) -> None:
        connection.execute(sql.SQL("LISTEN {}").format(self._channel), prepare=False)

    def _unlisten(self, connection: Connection) -> None:
        connection.execute(sql.SQL("UNLISTEN {}").format(self._channel), prepare=False)


def listen(
    database: Database, run: int, what: str, *, line: Line | None = None, first: Words | None = None
) -> NotifyBell:
    """Make a bell for what is `asked` of a run or `written` to it; on a line of its own, unless one is given."""
    found = database.reading(lambda connection: connection.execute(_CHANNEL, (run, what)).fetchone())
    assert found is not None
    own = line or Line(database)
    try:
        if first is not None:
            own.say(first)
        return NotifyBell(own, found[0], owns_line=line is None)
    except BaseException:
        if line is None:
            own.close()
        raise


class Ear:
    """One who follows a run: woken by its commits, of which the driver tells only as long as somebody follows."""

    def __init__(self, database: Database, run: int) -> None:
        self._database = database
        self._run = run
        self._bell = listen(database, run, "written", first=lambda connection: connection.execute(_FOLLOW, (run,)))

    def wait(self, after: int, *, timeout_s: float) -> bool:
        """Wait until there is an event behind number `after`, at most so long; say whether there is."""
        until_s = time.monotonic() + timeout_s
        while True:
            self._bell.drain()
            if self._has_news(after):
                return True
            left_s = until_s - time.monotonic()
            if left_s <= 0:
                return False
            self._bell.wait(left_s)

    def _has_news(self, after: int) -> bool:
        ask = (self._run, after)
        found = self._database.reading(lambda connection: connection.execute(_HAS_NEWS, ask).fetchone())
        return found is not None and bool(found[0])

    def close(self) -> None:
        """Stop listening."""
        self._bell.close()
