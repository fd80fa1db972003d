"""What the user means: a run by name, id, prefix or `last`; a task by its id or a prefix.

Knows the store's lists. A near miss is answered with the nearest name.
"""

import shlex

from budwood._core.ids import LAST, by_prefix
from budwood._core.rows import RunRow, TaskRow
from budwood._core.suggest import nearest
from budwood.errors import NoSuchId, UsageError
from budwood.stores import Store


def listed(store: Store) -> list[RunRow]:
    """List the runs, oldest first, but those of which nothing was written before their drivers died.

    Where a run has no file, nobody could begin it either: there would be nothing that anybody could do about it.
    """
    return [row for row in store.runs() if _is_listed(store, row)]


def _is_listed(store: Store, row: RunRow) -> bool:
    return bool(row.last_event or row.source) or store.holder(row.id) is not None


def find_run(store: Store, given: str) -> RunRow:
    """Find the run that is meant; one that is not listed, by its whole name or id alone."""
    runs = [row for row in store.runs() if _is_listed(store, row) or given in (row.name, row.id)]
    if not runs:
        raise NoSuchId(f"there are no runs in {store.where}", hint="budwood run FILE starts one")
    if given == LAST:
        return runs[-1]
    for names in ({run.name: run for run in runs}, {run.id: run for run in runs}):
        found = by_prefix(given, names)
        if len(found) == 1:
            return names[found[0]]
        if found:
            raise NoSuchId(f"{given!r} could be {_some(found)}", hint="write more of it")
    meant = nearest(given, [run.name for run in runs])
    raise NoSuchId(
        f"there is no run {given!r}", hint=f"did you mean {meant}?" if meant else "budwood ls lists the runs"
    )


def newest_of(store: Store, source: str) -> RunRow | None:
    """Return the newest run of a plan file, or None."""
    return next((run for run in reversed(store.runs()) if run.source == source), None)


def find_task(store: Store, run: RunRow, given: str) -> TaskRow:
    """Find the task that is meant; one that the plan lost is found too."""
    tasks = {str(task.id): task for task in store.tasks(run.id)}
    if not tasks and run.last_event == 0:
        raise not_begun(run)
    found = by_prefix(given, tasks)
    if len(found) == 1:
        return tasks[found[0]]
    if found:
        raise NoSuchId(f"{given!r} could be {_some(found)} of run {run.name}", hint="write more of it")
    meant = nearest(given, list(tasks))
    hint = f"did you mean {meant}?" if meant else f"budwood show {run.name} lists its tasks"
    raise NoSuchId(f"run {run.name} has no task {given!r}", hint=hint)


NOT_BEGUN = "it has not begun: its driver died before the first event"


def not_begun(run: RunRow) -> UsageError:
    """Say that a run was claimed and that nothing more is known of it."""
    why = NOT_BEGUN.removeprefix("it ")
    return UsageError(f"run {run.name} {why}", hint=begin_command(run))


def begin_command(run: RunRow) -> str:
    """Say how a run is begun which was only claimed: what has a file, or a name in a program, begins under its name.

    Of any other nothing is known, not even what was wanted: only who made it can make it again, as another run.
    """
    if not run.source:
        again = "what made it, budwood best-of … or a program, makes another"
        return f"nothing of {run.name} was written, and it is not listed; {again}"
    if not run.source.startswith("/"):
        name = run.source.partition(" in /")[0]  # as it was given: the run's own may be another
        return f"run the program again that made it, with budwood.start(…, name={name!r})"
    return f"budwood run {shlex.quote(run.source)}"


def _some(names: list[str]) -> str:
    return ", ".join(names[:5]) + (f" or {len(names) - 5} more" if len(names) > 5 else "")
