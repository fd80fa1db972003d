"""`budwood logs`: what attempts printed."""

from pathlib import Path

import click

from budwood._core.model import OPEN_ATTEMPT
from budwood._core.rows import AttemptRow, RunRow, TaskRow
from budwood.cli.arguments import run_argument, task_argument
from budwood.cli.follow import Follower
from budwood.cli.log_files import LogExport, explained, held
from budwood.cli.log_writer import LogWriter
from budwood.cli.logs import attempt_dir, is_unordered, read_log
from budwood.cli.looking import looking, note, store_option
from budwood.cli.progress import progress
from budwood.cli.text import cut, one_line, width
from budwood.errors import NoSuchId, UsageError
from budwood.project.find import find_run, find_task
from budwood.project.place import run_dir_of
from budwood.project.words import counted, some
from budwood.stores import Store

_WIDEST = 20


@click.command("logs")
@run_argument(required=False)
@task_argument()
@click.option(
    "--attempt", "number", type=click.IntRange(min=1), metavar="N", help="An earlier attempt, not the newest."
)
@click.option("-f", "--follow", is_flag=True, help="Go on as more is printed, until the attempt ends.")
@click.option("--raw", is_flag=True, help="Write the bytes as they are, also to a terminal.")
@click.option(
    "--export", "folder", type=click.Path(path_type=Path), metavar="DIR", help="Write each log into a file there."
)
@store_option
def command(
    run: str, task: str | None, number: int | None, follow: bool, raw: bool, folder: Path | None, where: str | None
) -> int:
    """Print what attempts printed, or write it to files.

    Of a TASK its newest attempt; without one the newest attempts of all tasks, each line with its task's id. --export
    writes the logs of all attempts that have ended; into a directory of an earlier export, those that it has not.

    \b
    Example: budwood logs night build -f
    """
    if folder is not None and (follow or raw):
        raise UsageError("--export writes whole logs, as they are", hint="leave --follow and --raw out")
    if number is not None and task is None:
        raise UsageError("--attempt needs a task", hint="budwood logs RUN TASK --attempt N")
    with looking(where) as (_, store):
        row = find_run(store, run)
        tasks = store.tasks(row.id) if task is None else [find_task(store, row, task)]
        run_dir = run_dir_of(row)
        if folder is not None:
            return _export(store, row, tasks, folder, number=number)
        if follow:
            _follow(Follower(store, row, run_dir), tasks, number=number, raw=raw, mixed=task is None)
        elif task is not None:
            _print_one(store, row, run_dir, tasks[0], number=number, raw=raw)
        else:
            _print_all(store, row, run_dir, tasks, raw=raw)
    return 0


def _print_one(store: Store, row: RunRow, run_dir: Path, task: TaskRow, *, number: int | None, raw: bool) -> None:
    attempts = store.attempts(row.id, task.number)
    wanted = [attempt for attempt in attempts if number in (None, attempt.number)]
    if not wanted:
        if number is not None:
            known = some(attempt.number for attempt in attempts) or "none"
            raise NoSuchId(f"task {task.id} of run {row.name} has no attempt {number}", hint=f"its attempts: {known}")
        note(f"task {task.id} has not begun: {task.phase.value}\n\nhint: budwood why {row.name} {task.id}")
        return
    data = read_log(store, row.id, run_dir, wanted[-1])
    if data is None:
        directory = attempt_dir(run_dir, wanted[-1])
        raise NoSuchId(f"the log of this attempt is too large for the store, and {directory} is not on this machine")
    writer = LogWriter(raw=raw)
    writer.write(data)
    writer.close()
    if wanted[-1].phase in OPEN_ATTEMPT and is_unordered(attempt_dir(run_dir, wanted[-1])):
        note("\nmore was printed than is kept; until the attempt ends, the later part is in no order")
    if not data:
        verb = "has printed nothing yet" if wanted[-1].phase in OPEN_ATTEMPT else "printed nothing"
        note(f"attempt {wanted[-1].number} of task {task.id} {verb}")


def _print_all(store: Store, row: RunRow, run_dir: Path, tasks: list[TaskRow], *, raw: bool) -> None:
    newest = {attempt.task: attempt for attempt in store.attempts(row.id)}
    prefixes = _prefixes(tasks)
    for number, attempt in newest.items():
        writer = LogWriter(raw=raw, prefix=prefixes[number])
        writer.write(read_log(store, row.id, run_dir, attempt) or b"")
        writer.close()
    if not newest:
        note(f"no task of run {row.name} has begun")


def _follow(follower: Follower, tasks: list[TaskRow], *, number: int | None, raw: bool, mixed: bool) -> None:
    prefixes = _prefixes(tasks) if mixed else {}
    writers: dict[tuple[int, int], LogWriter] = {}
    pieces = follower.follow_all() if mixed else follower.follow_one(tasks[0].number, number)
    try:
        for piece in pieces:
            place = piece.attempt.task, piece.attempt.number
            writer = writers.setdefault(place, LogWriter(raw=raw, prefix=prefixes.get(piece.attempt.task, "")))
            writer.write(piece.data)
            if piece.ended:
                writers.pop(place).close()
                if not mixed:
                    note(_ending(piece.attempt))
    except KeyboardInterrupt:
        note("\nleft; the run goes on")
        raise click.exceptions.Exit(130) from None


def _ending(attempt: AttemptRow) -> str:
    if attempt.phase in OPEN_ATTEMPT:
        return f"attempt {attempt.number} is over, and nobody drives the run to record it"
    said = "" if attempt.error is None else f": {attempt.error.message}"
    return f"attempt {attempt.number} {attempt.phase.value.replace('_', ' ')}{said}"


def _prefixes(tasks: list[TaskRow]) -> dict[int, str]:
    """Put ids of different lengths into one column."""
    names = {task.number: cut(one_line(str(task.id)), _WIDEST) for task in tasks}
    room = max(map(width, names.values()), default=0)
    return {number: f"{name}{' ' * (room - width(name))} | " for number, name in names.items()}


def _export(store: Store, row: RunRow, tasks: list[TaskRow], folder: Path, *, number: int | None) -> int:
    export = LogExport(store, row, folder)
    attempts = export.attempts(tasks, number=number)
    try:
        with explained(folder), held(folder, row):
            with progress(len(attempts), "logs") as step:
                for attempt in attempts:
                    export.take(attempt)
                    step()
            export.write_index()
    except KeyboardInterrupt:
        note(f"\nleft; every file in {folder} is whole, and the same command goes on")
        raise click.exceptions.Exit(130) from None
    note(f"{counted(export.written, 'log')} written to {folder}" + _besides(export))
    if export.lost:
        logs = "1 log is" if len(export.lost) == 1 else f"{len(export.lost)} logs are"
        note(f"warning: {logs} too large for the store, and not on this machine")
    return 1 if export.lost else 0


def _besides(export: LogExport) -> str:
    there = f"; {export.there} {'was' if export.there == 1 else 'were'} there" if export.there else ""
    running = f"; {counted(export.running, 'attempt')} still running, left out" if export.running else ""
    return there + running
