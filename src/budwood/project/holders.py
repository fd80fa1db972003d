"""Who has a directory of a pool, in words: the attempt at a task of a run, or a conflict that somebody is to solve.

Knows the store, and how attempts and conflicts are called where they hold directories.
"""

import re

from budwood._core.candidates import line_of
from budwood._core.rows import RunRow, TaskRow
from budwood.engine.workshop.conflicts import conflict_name
from budwood.stores import Store

_WORK = re.compile(r"([0-9]+)\.([0-9]+)(\.[a-z0-9]+)?")


class HolderNames:
    """Names holders; asks the store once for each run."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._runs: dict[str, RunRow] | None = None
        self._tasks: dict[str, list[TaskRow]] = {}

    def __call__(self, holder: str) -> str:
        """Name one as `run/work`; of a run that is not in this store only what is known."""
        run, _, work = holder.partition("/")
        if self._runs is None:
            self._runs = {row.id: row for row in self._store.runs()}
        row = self._runs.get(run)
        if row is None:
            return f"{holder}, of a run that is not in this store,"
        return f"{self.work(run, work)} of run {row.name}"

    def work(self, run: str, work: str) -> str:
        """Name what works on behalf of a run."""
        if run not in self._tasks:
            self._tasks[run] = self._store.tasks(run)
        tasks, found = self._tasks[run], _WORK.fullmatch(work)
        if found is not None and int(found[1]) < len(tasks):
            return f"attempt {found[2]} at task {tasks[int(found[1])].id}"
        lines = (line_of(task.id, task.lane) for task in tasks)
        return next((f"the conflict of {line}" for line in lines if conflict_name(line) == work), work)
