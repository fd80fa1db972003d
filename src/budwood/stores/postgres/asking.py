"""Requests in their table: put there by anybody, answered by the driver in one of its commits.

Knows the table request; must not know leases or bells.
"""

from budwood.errors import NoSuchId
from budwood.stores.base import Request
from budwood.stores.columns import REQUEST, request_row
from budwood.stores.postgres.connect import Connection
from budwood.stores.postgres.database import Database
from budwood.stores.postgres.text import escape, restore

_COLUMNS = f"SELECT {', '.join(REQUEST)} FROM request WHERE run = %s"
# Those who ask at once take turns, so that numbers have no gaps.
_LOCK = "SELECT pg_advisory_xact_lock(lock_of(format('ask %%s', %s::integer)))"
_PUT = (
    "INSERT INTO request (run, number, key, kind, body) "
    "SELECT %(run)s, 1 + coalesce(max(number), 0), %(key)s, %(kind)s, %(body)s FROM request WHERE run = %(run)s "
    "ON CONFLICT (run, key) DO NOTHING"
)
_RING = "SELECT pg_notify(channel_of(%s, 'asked'), '')"


def put_request(database: Database, run: str, kind: str, *, body: str, key: str) -> Request:
    """Add a request, unless its key is known, and ring; return what is on the table under that key."""
    number = database.number_of(run)
    given = {"run": number, "key": escape(key), "kind": escape(kind), "body": escape(body)}

    def put(connection: Connection, _: bool) -> Request:
        with connection.transaction():
            connection.execute(_LOCK, (number,))
            connection.execute(_PUT, given)
            connection.execute(_RING, (number,))
            return _rows(connection, run, f"{_COLUMNS} AND key = %s", (number, given["key"]))[0]

    return database.writing(put, run=run)


def ring(database: Database, run: str) -> None:
    """Wake the run's driver."""
    number = database.number_of(run)
    database.writing(lambda connection, again: connection.execute(_RING, (number,)), run=run)


def read_request(database: Database, run: str, number: int) -> Request:
    """Read one back."""
    ask = (database.number_of(run), number)
    found = database.reading(lambda connection: _rows(connection, run, f"{_COLUMNS} AND number = %s", ask), run=run)
    if not found:
        raise NoSuchId(f"run {run} has no request {number}")
    return found[0]


def read_requests(database: Database, run: str, *, pending: bool) -> list[Request]:
    """List them, oldest first."""
    only = " AND state = 'pending'" if pending else ""
    ask = (database.number_of(run),)
    return database.reading(
        lambda connection: _rows(connection, run, f"{_COLUMNS}{only} ORDER BY number", ask), run=run
    )


def _rows(connection: Connection, run: str, question: str, values: tuple[object, ...]) -> list[Request]:
    return [request_row(run, (number, *map(restore, texts))) for number, *texts in connection.execute(question, values)]
