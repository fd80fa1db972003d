"""Requests in their table: put there by anybody, answered by the driver in one of its commits.

Knows the table request; must not know leases or bells.
"""

import sqlite3

from budwood.errors import NoSuchId
from budwood.stores.base import Answer, Request, not_waiting
from budwood.stores.columns import REQUEST, request_row
from budwood.stores.sqlite.database import Database

_COLUMNS = f"SELECT {', '.join(REQUEST)} FROM request WHERE run = ?"
_PUT = (
    "INSERT INTO request (run, number, key, kind, body) "
    "SELECT ?1, 1 + coalesce(max(number), 0), ?2, ?3, ?4 FROM request WHERE run = ?1 "
    "ON CONFLICT (run, key) DO NOTHING"
)
_ANSWER = "UPDATE request SET state = ?, answer = ? WHERE run = ? AND number = ? AND state = 'pending'"


def put_request(database: Database, run: str, kind: str, *, body: str, key: str) -> Request:
    """Add a request, unless its key is known; return what is on the table under that key."""
    with database.writing(run) as connection:
        number = database.number_of(run)
        connection.execute(_PUT, (number, key, kind, body))
        return request_row(run, connection.execute(f"{_COLUMNS} AND key = ?", (number, key)).fetchone())


def read_request(database: Database, run: str, number: int) -> Request:
    """Read one back."""
    with database.reading(run) as connection:
        found = connection.execute(f"{_COLUMNS} AND number = ?", (database.number_of(run), number)).fetchone()
    if found is None:
        raise NoSuchId(f"run {run} has no request {number}")
    return request_row(run, found)


def read_requests(database: Database, run: str, *, pending: bool) -> list[Request]:
    """List them, oldest first."""
    only = " AND state = 'pending'" if pending else ""
    with database.reading(run) as connection:
        found = connection.execute(f"{_COLUMNS}{only} ORDER BY number", (database.number_of(run),)).fetchall()
    return [request_row(run, values) for values in found]


def put_answer(connection: sqlite3.Connection, number: int, *, run: str, answer: Answer) -> None:
    """Answer a request, inside the transaction of a commit."""
    done = connection.execute(_ANSWER, (answer.state, answer.text, number, answer.request))
    if done.rowcount != 1:
        raise not_waiting(run, answer.request)
