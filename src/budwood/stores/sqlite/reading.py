"""Events and logs, read back; what cannot be read is named by run and number.

Knows the tables event and log; must not write.
"""

from collections.abc import Iterator
from functools import partial

from budwood._core.events import Raw, Recorded
from budwood.stores.kept import dense, unpack
from budwood.stores.sqlite.database import Database
from budwood.stores.sqlite.faults import damaged

_PAGE = 500
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
    return dense(_raws(database, run, number, after), after=after, damaged=partial(damaged, database.path, run=run))


def _raws(database: Database, run: str, number: int, after: int) -> Iterator[Raw]:
    # A statement left open would keep the journal from being merged for as long as somebody reads.
    while True:
        with database.reading(run) as connection:
            page = connection.execute(_READ_EVENTS, (number, after, _PAGE)).fetchall()
        for values in page:
            raw = Raw(*values)
            yield raw
            after = raw.number
        if len(page) < _PAGE:
            return


def read_log(database: Database, run: str, task: int, attempt: int) -> bytes | None:
    """Return what an attempt printed; None if there is nothing of it."""
    with database.reading(run) as connection:
        found = connection.execute(_READ_LOG, (database.number_of(run), task, attempt)).fetchone()
    if found is None:
        return None
    size, data = found
    what = f"the log of attempt {attempt} of task {task}"
    return unpack(data, size=size, what=what, damaged=partial(damaged, database.path, run=run))
