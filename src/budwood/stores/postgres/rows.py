"""The SQL of projections, and what was found by it as values that the shared readers take.

Knows the tables' columns, and how ids and text are kept in them; must not know leases or connections.
"""

from collections.abc import Iterable, Iterator

from psycopg.rows import TupleRow

from budwood.stores.columns import ATTEMPT, DEPENDENCY, RUN, TASK, Value
from budwood.stores.postgres.text import from_json, restore

SELECT_RUNS = f"SELECT id, name, source, {', '.join(RUN)} FROM run ORDER BY number"
SELECT_TASKS = f"SELECT integers, {', '.join(TASK)} FROM task WHERE run = %s ORDER BY number"
SELECT_ATTEMPTS = f"SELECT {', '.join(ATTEMPT)} FROM attempt WHERE run = %s ORDER BY task, number"
SELECT_ATTEMPTS_OF_TASK = f"SELECT {', '.join(ATTEMPT)} FROM attempt WHERE run = %s AND task = %s ORDER BY number"
SELECT_DEPENDENCIES = f"SELECT {', '.join(DEPENDENCY)} FROM dependency WHERE run = %s ORDER BY task, needs"

_IDS = tuple((TASK.index(column), bit) for column, bit in (("id", 1), ("lane", 2), ("because", 4)))
"""Which bit of the column `integers` says that an id was a whole number in the plan."""
_ERROR = ATTEMPT.index("error")


def run_values(found: Iterable[TupleRow]) -> Iterator[list[Value]]:
    """Give what SELECT_RUNS found."""
    for values in found:
        yield _restored(values)


def task_values(found: Iterable[TupleRow]) -> Iterator[list[Value]]:
    """Give what SELECT_TASKS found, ids as the plan has them."""
    for integers, *kept in found:
        values = _restored(kept)
        if integers:
            for place, bit in _IDS:
                if integers & bit:
                    values[place] = int(kept[place])
        yield values


def attempt_values(found: Iterable[TupleRow]) -> Iterator[list[Value]]:
    """Give what SELECT_ATTEMPTS found."""
    for kept in found:
        values = list(kept)
        if values[_ERROR] is not None:
            values[_ERROR] = from_json(values[_ERROR])
        yield values


def _restored(values: Iterable[Value]) -> list[Value]:
    return [restore(value) if isinstance(value, str) else value for value in values]
