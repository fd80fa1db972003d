"""Proves that a store's tables are what its events say.

Knows the contract of stores and the machine. Must not change anything.
"""

from collections.abc import Iterator

import msgspec

from budwood._core.replay import fold_rows
from budwood._core.rows import AttemptRow, DependencyRow, Rows, RunRow, TaskRow
from budwood.errors import BudwoodError, StoreDamaged
from budwood.stores import Store

_TRIES = 20
_CLAIMED = ("name", "source")
"""These are the store's, not the events': an imported run can have another name."""

Row = RunRow | TaskRow | AttemptRow | DependencyRow


def differences(store: Store, run: RunRow) -> list[str]:
    """Name everything in which the tables of a run differ from its events, and every log that cannot be read."""
    try:
        for _ in range(_TRIES):
            before = _row(store, run.id)
            held = _held(store, before)
            wanted = fold_rows(store.read(run.id)) if before.last_event else Rows(run=before)
            if _row(store, run.id).last_event == before.last_event:
                return [*_compare(wanted, held), *_broken_logs(store, held)]
    except BudwoodError as error:
        return [f"run {run.name}: {error.message}"]
    return [f"run {run.name} changes too fast to be compared; pause it and verify again"]


def _row(store: Store, run: str) -> RunRow:
    return next(row for row in store.runs() if row.id == run)


def _held(store: Store, row: RunRow) -> Rows:
    return Rows(
        run=row,
        tasks=tuple(store.tasks(row.id)),
        attempts=tuple(store.attempts(row.id)),
        dependencies=tuple(store.dependencies(row.id)),
    )


def _compare(wanted: Rows, held: Rows) -> Iterator[str]:
    where = f"run {held.run.name}"
    claimed = {name: getattr(held.run, name) for name in _CLAIMED}
    yield from _unequal(where, msgspec.structs.replace(wanted.run, **claimed), held.run)
    for noun, want, have in zip(("task", "attempt", "dependency"), _named(wanted), _named(held), strict=True):
        for name in [*want, *(name for name in have if name not in want)]:
            if name not in have:
                yield f"{where}: {noun} {name} is missing from the table"
            elif name not in want:
                yield f"{where}: {noun} {name} is in the table, but no event made it"
            else:
                yield from _unequal(f"{where}: {noun} {name}", want[name], have[name])


def _named(rows: Rows) -> tuple[dict[str, Row], dict[str, Row], dict[str, Row]]:
    return (
        {str(row.number): row for row in rows.tasks},
        {f"{row.task}.{row.number}": row for row in rows.attempts},
        {f"{row.task} on {row.needs}": row for row in rows.dependencies},
    )


def _unequal(where: str, wanted: Row, held: Row) -> Iterator[str]:
    if wanted == held:
        return
    have = msgspec.to_builtins(held)
    for name, value in msgspec.to_builtins(wanted).items():
        if have[name] != value:
            yield f"{where}: {name} is {_shown(have[name])}, the events say {_shown(value)}"


def _shown(value: object) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= 80 else f"{text[:79]}…"


def _broken_logs(store: Store, held: Rows) -> Iterator[str]:
    for row in held.attempts:
        try:
            store.log(held.run.id, row.task, row.number)
        except StoreDamaged as error:
            yield f"run {held.run.name}: {error.message}"
