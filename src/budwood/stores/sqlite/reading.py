"""Events and logs, read back; what cannot be read is named by run and number.

Knows the tables event and log; must not write.
"""

import zlib
from collections.abc import Iterator

import msgspec

from budwood._core import events
from budwood._core.events import Raw, Recorded
from budwood.errors import UnknownEvent
from budwood.stores.sqlite.database import Database
from budwood.stores.sqlite.faults import damaged

_PAGE = 500
_WORTH_PACKING = 200
# As a blob: text that is no UTF-8 any more would fail before its event could be named.
_READ_EVENTS = (
    "SELECT number, at_ms, kind, version, CAST(body AS BLOB) "
    "FROM event WHERE run = ? AND number > ? ORDER BY number LIMIT ?"
)
_READ_LOG = "SELECT size, data FROM log WHERE run = ? AND task = ? AND attempt = ?"


def read_events(database: Database, run: str, after: int) -> Iterator[Recorded]:
    """Give the events behind number `after`; they must be dense."""
    with database.reading(run):
        number = database.number_of(run)
    return _pages(database, run, number, after)


def _pages(database: Database, run: str, number: int, after: int) -> Iterator[Recorded]:
    # A statement left open would keep the journal from being merged for as long as somebody reads.
    while True:
        with database.reading(run) as connection:
            page = connection.execute(_READ_EVENTS, (number, after, _PAGE)).fetchall()
        for values in page:
            raw = Raw(*values)
            if raw.number != after + 1:
                raise damaged(database.path, f"event {after + 1} is missing", run=run)
            yield _decoded(database, run, raw)
            after = raw.number
        if len(page) < _PAGE:
            return


def _decoded(database: Database, run: str, raw: Raw) -> Recorded:
    try:
        return events.decode(raw)
    except UnknownEvent as error:
        if not isinstance(error.__cause__, msgspec.MsgspecError):
            raise
        raise damaged(database.path, f"event {raw.number} ({error.__cause__})", run=run) from error
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise damaged(database.path, f"event {raw.number} ({error})", run=run) from error


def pack(data: bytes) -> bytes:
    """Compress where that pays; what is stored is then shorter than what was printed, and so known to be compressed."""
    if len(data) < _WORTH_PACKING:
        return data
    packed = zlib.compress(data, 1)
    return packed if len(packed) < len(data) else data


def read_log(database: Database, run: str, task: int, attempt: int) -> bytes | None:
    """Return what `pack` was given."""
    with database.reading(run) as connection:
        found = connection.execute(_READ_LOG, (database.number_of(run), task, attempt)).fetchone()
    if found is None:
        return None
    size, data = found
    try:
        whole = bytes(data) if len(data) == size else zlib.decompress(data)
    except zlib.error as error:
        raise damaged(database.path, f"the log of attempt {attempt} of task {task} ({error})", run=run) from error
    return whole
