"""Events and logs, read back; what cannot be read is named by run and number.

Knows the tables event and log; must not write.
"""

from collections.abc import Iterator
from functools import partial

from budwood._core.events import Raw, Recorded
from budwood.stores.kept import dense, unpack
from budwood.stores.postgres.connect import Connection
from budwood.stores.postgres.database import Database
from budwood.stores.postgres.faults import damaged

_PAGE = 1000
_PAGE_BYTES = 8 * 1024 * 1024
_COLUMNS = "number, at_ms, kind, version, convert_to(body, 'UTF8')"
# Until a page is full, by number or by size: how long a body is stands beside it, so that this reads none that is not
# sent. The first one always comes.
_READ_PAGE = (
    f"SELECT {_COLUMNS} FROM ("
    "SELECT *, sum(octet_length(body)) OVER (ORDER BY number) - octet_length(body) AS before FROM ("
    "SELECT * FROM event WHERE run = %s AND number > %s ORDER BY number LIMIT %s) AS next) AS page "
    "WHERE before < %s ORDER BY number"
)
_READ_RANGE = f"SELECT {_COLUMNS} FROM event WHERE run = %s AND number > %s AND number <= %s ORDER BY number"
_READ_LOG = "SELECT size, data FROM log WHERE run = %s AND task = %s AND attempt = %s"


def read_events(database: Database, run: str, after: int) -> Iterator[Recorded]:
    """Give the events behind number `after`; they must be dense."""
    number = database.number_of(run)
    raws = _pages(database, run, number, after)
    return dense(raws, after=after, damaged=partial(damaged, database.address.shown, run=run))


def _pages(database: Database, run: str, number: int, after: int) -> Iterator[Raw]:
    # No cursor is kept open: the store can be used for something else in between, and a lost connection is no matter.
    def page(connection: Connection) -> list[Raw]:
        found = connection.cursor(binary=True).execute(_READ_PAGE, (number, after, _PAGE, _PAGE_BYTES))
        return [Raw(*values) for values in found.fetchall()]

    while raws := database.reading(page, run=run):
        yield from raws
        after = raws[-1].number


def read_raws(connection: Connection, run: int, after: int, *, upto: int) -> list[Raw]:
    """Read the events of a range as they are kept."""
    return [Raw(*values) for values in connection.cursor(binary=True).execute(_READ_RANGE, (run, after, upto))]


def read_log(database: Database, run: str, task: int, attempt: int) -> bytes | None:
    """Return what an attempt printed; None if there is nothing of it."""
    number = database.number_of(run)
    ask = (number, task, attempt)
    found = database.reading(
        lambda connection: connection.cursor(binary=True).execute(_READ_LOG, ask).fetchone(), run=run
    )
    if found is None:
        return None
    size, data = found
    what = f"the log of attempt {attempt} of task {task}"
    return unpack(data, size=size, what=what, damaged=partial(damaged, database.address.shown, run=run))
