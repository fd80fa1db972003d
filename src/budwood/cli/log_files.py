"""Logs as files: a folder per task, in it a file per attempt that has ended, and an index of all.

A directory belongs to one run and is completed by the next export. Every file in it is whole, also when this is killed:
it gets its name when all of it is written. Knows the names that tasks get as files. Must not print.
"""

import csv
import fcntl
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from budwood._core.ids import safe_name
from budwood._core.model import OPEN_ATTEMPT
from budwood._core.rows import AttemptRow, RunRow, TaskRow
from budwood.cli.csv_rows import Cell, Utf8, text
from budwood.cli.logs import open_log
from budwood.errors import UsageError
from budwood.project.place import run_dir_of
from budwood.project.times import iso
from budwood.stores import Store

INDEX = "index.csv"
COLUMNS = (
    *("file", "task", "attempt", "state", "exit_code", "signal", "started_at", "finished_at"),
    *("bytes", "dropped_bytes"),
)
_MARK = ".budwood-logs"
"""Says which run the directory belongs to, and is locked while somebody writes there."""
_DRAFT = ".budwood-draft"


def folder_names(tasks: Iterable[TaskRow]) -> dict[int, str]:
    """Name a folder for each task, in task order: the names of earlier tasks stay when a plan grows."""
    names: dict[int, str] = {}
    taken: set[str] = set()
    for task in tasks:
        name = safe_name(str(task.id), fallback="task")
        while name in taken:
            name = f"{name}-{task.number}"
        taken.add(name)
        names[task.number] = name
    return names


@contextmanager
def held(folder: Path, run: RunRow) -> Iterator[None]:
    """Make the directory, or take up one of an earlier export of the same run; nobody else may write there then."""
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / _MARK).exists() and any(folder.iterdir()):
        raise UsageError(f"{folder} has other files in it", hint="give a new directory, or one of an earlier export")
    with (folder / _MARK).open("a+") as mark:
        try:
            fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(f"somebody else is writing logs to {folder}", hint="wait until that is over") from None
        mark.seek(0)
        owner = mark.read().strip()
        if owner not in ("", run.id):
            raise UsageError(f"{folder} has the logs of another run, {owner}", hint="give another directory")
        if not owner:
            mark.write(f"{run.id}\n")
            mark.flush()
        yield


@contextmanager
def explained(folder: Path) -> Iterator[None]:
    """Say what the machine refused, and what is safe."""
    try:
        yield
    except OSError as error:
        raise UsageError(
            f"logs cannot be written: {error.filename or folder}: {error.strerror}",
            hint="every file that is there is whole; the same command goes on",
        ) from error


class LogExport:
    """The logs of one run on their way into a directory."""

    def __init__(self, store: Store, run: RunRow, folder: Path) -> None:
        self.folder = folder
        self.written = self.there = self.running = 0
        self.lost: set[tuple[int, int]] = set()
        """Attempts, by task and number, whose log is too large for the store and not on this machine."""
        self._store = store
        self._run = run
        self._run_dir = run_dir_of(run)
        self._attempts = store.attempts(run.id)  # before the tasks: a run that is driven may get more of both
        self._tasks = {task.number: task for task in store.tasks(run.id)}
        self._names = folder_names(self._tasks.values())

    def attempts(self, tasks: Iterable[TaskRow], *, number: int | None) -> list[AttemptRow]:
        """List the attempts of some tasks: all, or those of one number."""
        wanted = {task.number for task in tasks}
        return [each for each in self._attempts if each.task in wanted and number in (None, each.number)]

    def take(self, attempt: AttemptRow) -> None:
        """Write an attempt's log, unless it is there. One that still runs is left out: its log is not whole."""
        name = self._file(attempt)
        if attempt.phase in OPEN_ATTEMPT:
            self.running += 1
        elif os.path.lexists(self.folder / name):
            self.there += 1
        else:
            self._write_log(name, attempt)

    def write_index(self) -> None:
        """Write what each file is; those of earlier exports are in it, and, without a file, logs that are lost."""
        with self._writing(INDEX) as out:
            writer = csv.writer(Utf8(out))
            writer.writerow(COLUMNS)
            for attempt in self._attempts:
                row = self._row(attempt)
                if row is not None:
                    writer.writerow(row)

    def _file(self, attempt: AttemptRow) -> str:
        return f"{self._names[attempt.task]}/{attempt.number}.log"

    def _write_log(self, name: str, attempt: AttemptRow) -> None:
        log = open_log(self._store, self._run.id, self._run_dir, attempt)
        if log is None:
            self.lost.add((attempt.task, attempt.number))
            return
        with log, self._writing(name) as out:
            shutil.copyfileobj(log, out)
        self.written += 1

    @contextmanager
    def _writing(self, name: str) -> Iterator[BinaryIO]:
        draft, target = self.folder / _DRAFT, self.folder / name
        target.parent.mkdir(exist_ok=True)
        try:
            with draft.open("wb") as out:
                yield out
            draft.rename(target)
        finally:
            draft.unlink(missing_ok=True)

    def _row(self, attempt: AttemptRow) -> list[Cell] | None:
        name: Cell = self._file(attempt)
        size: Cell = None
        try:
            size = (self.folder / str(name)).stat().st_size
        except FileNotFoundError:
            if (attempt.task, attempt.number) not in self.lost:
                return None
            name = None
        return [
            name,
            text(self._tasks[attempt.task].id),
            attempt.number,
            attempt.phase.value,
            attempt.exit_code,
            attempt.signal,
            iso(attempt.started_at_ms),
            iso(attempt.finished_at_ms),
            size,
            attempt.dropped_bytes,
        ]
