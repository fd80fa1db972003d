"""A commit as messages to the server: the arguments of the database's function `append`.

Rows travel as JSON, a table at a time: the server takes them apart faster than they could be bound one by one. A commit
is one message, which is a transaction by itself; only a very large one is several, inside one transaction. Knows the
contract's commits; must not know leases beyond their number, nor lost connections.
"""

from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import TypeVar

import msgspec

from budwood._core.events import Raw, encode
from budwood.stores.base import Commit, LogEntry
from budwood.stores.kept import pack
from budwood.stores.postgres.connect import Connection
from budwood.stores.postgres.reading import read_raws
from budwood.stores.postgres.text import as_json, restore

Argument = str | int | Sequence[int] | Sequence[bytes] | None
Message = tuple[Argument, ...]
Item = TypeVar("Item")

APPEND = (
    "SELECT append(%s, %s, %s, %s::json, %s::json, %s::json, %s::json, %s::bigint[], %s::json, %s::json, %b::bytea[], "
    "%s::json)"
)
_MOST_ROWS = 10_000
_MOST_BYTES = 16 * 1024 * 1024
_ANSWERS = "SELECT number, state, answer FROM request WHERE run = %s AND number = ANY (%s)"


def messages(run: int, fence: int, commit: Commit) -> list[Message]:
    """Write a commit as what APPEND takes: usually once, else several times, to be sent in this order."""
    rows, behind = commit.rows, commit.after
    made: list[Message] = []
    parts = zip_longest(
        _by_bytes([encode(recorded) for recorded in commit.events], lambda raw: len(raw.body)),
        _by_number(rows.tasks),
        _by_number(rows.attempts),
        _by_number(rows.dependencies),
        _by_bytes([entry for entry in commit.logs if entry.data], lambda entry: len(entry.data)),
        fillvalue=(),
    )
    for raws, tasks, attempts, dependencies, logs in parts:
        first = not made
        places, data = _logs(logs)
        made.append(
            (
                *(run, fence, behind, _events(raws), as_json(rows.run), as_json(tasks), as_json(attempts)),
                *((list(rows.gone_dependencies) or None) if first else None, as_json(dependencies), places, data),
                as_json(commit.answers) if first else None,
            )
        )
        behind += len(raws)
    return made


def send(connection: Connection, commit: Sequence[Message]) -> None:
    """Have a commit written, all of it or nothing."""
    if len(commit) == 1:
        connection.execute(APPEND, commit[0])
        return
    with connection.transaction():
        for message in commit:
            connection.execute(APPEND, message)


def is_written(connection: Connection, run: int, commit: Commit) -> bool:
    """Look whether a commit is there, byte by byte, after nobody could say; whoever asks still holds the lease."""
    if commit.events:
        wanted = [encode(recorded) for recorded in commit.events]
        return read_raws(connection, run, commit.after, upto=wanted[-1].number) == wanted
    asked = [answer.request for answer in commit.answers]
    found = {number: (state, restore(text)) for number, state, text in connection.execute(_ANSWERS, (run, asked))}
    return bool(asked) and all(found.get(each.request) == (each.state, each.text) for each in commit.answers)


def _events(raws: Sequence[Raw]) -> str | None:
    """Write events; a body is text in JSON, and so comes back as the same bytes."""
    if not raws:
        return None
    told = [
        {"number": raw.number, "at_ms": raw.at_ms, "kind": raw.kind, "version": raw.version, "body": raw.body.decode()}
        for raw in raws
    ]
    return msgspec.json.encode(told).decode()


def _logs(logs: Sequence[LogEntry]) -> tuple[str | None, list[bytes] | None]:
    if not logs:
        return None, None
    places = [
        {"task": entry.task, "attempt": entry.attempt, "size": len(entry.data), "place": place}
        for place, entry in enumerate(logs, start=1)
    ]
    return as_json(places), [pack(entry.data) for entry in logs]


def _by_number(rows: Sequence[Item]) -> list[Sequence[Item]]:
    return [rows[at : at + _MOST_ROWS] for at in range(0, len(rows) or 1, _MOST_ROWS)]


def _by_bytes(items: Sequence[Item], size: Callable[[Item], int]) -> list[Sequence[Item]]:
    parts: list[list[Item]] = [[]]
    room = _MOST_BYTES
    for item in items:
        if parts[-1] and size(item) > room:
            parts.append([])
            room = _MOST_BYTES
        parts[-1].append(item)
        room -= size(item)
    return list(parts)
