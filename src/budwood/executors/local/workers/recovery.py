"""How a new driver ends the workers of an old one: they are of no use to it, and their calls are made again.

What a call said of its cost is kept for good first. Waits, so it is for the time before the driver's loop runs.
"""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from budwood.errors import ExecutorError
from budwood.executors.base import Work
from budwood.executors.local.ground import Ground
from budwood.executors.local.leftovers import read_usage_report
from budwood.executors.local.paths import RunPaths, clear_runtime
from budwood.executors.local.sweep import Swept
from budwood.executors.local.takeover import Greeted, wait_until_gone
from budwood.executors.local.wire import Cancel, Exit
from budwood.executors.local.workers.costs import keep_cost, read_cost
from budwood.executors.local.workers.endings import file_log, read_call_log
from budwood.executors.local.workers.identity import split

_KILL_WITHIN_S = 20.0


def is_of_workers(name: str) -> bool:
    """Say whether a supervisor, by the name of its slot, is one of workers."""
    return name.startswith("w")


def end_old_workers(ground: Ground, greeted: Greeted, *, grace_s: float) -> Swept:
    """End every worker of the drivers before; return what a killed supervisor had left, or cannot be ended."""
    paths = ground.place.paths
    names = [path.name for path in paths.slots.iterdir() if is_of_workers(path.name)]
    if not names:
        return Swept()
    for link, reply in greeted.values():
        if reply.attempt is not None:
            link.send(Cancel(ground.fence, reply.attempt))
        link.send(Exit(ground.fence))
    for name, (link, _) in greeted.items():
        wait_until_gone(paths, name, within_s=grace_s + _KILL_WITHIN_S)
        link.close()
    [swept] = ground.sweeper.sweep_now([ground.place.mark("w*")])
    for name in names:
        clear_runtime(paths, name)
    return swept


def save_costs(paths: RunPaths, calls: Iterable[Work]) -> set[str]:
    """Move what calls said of their cost from their workers' directories to their own; name those that said any."""
    workers = sorted(path for path in paths.attempts.iterdir() if is_of_workers(path.name))
    saved = set()
    for work in calls:
        for worker in workers:
            if read_cost(worker, work.id) is not None:
                _save_cost(paths.attempt(work.id), worker, work)
        if read_usage_report(paths.attempt(work.id)) is not None:
            saved.add(work.id)
    return saved


def _save_cost(directory: Path, worker: Path, work: Work) -> None:
    try:
        if (directory / "log").is_symlink():  # else the last to print in that worker may have been another call
            with suppress(OSError):  # of a full disk; the cost needs no more room than it has
                file_log(directory, read_call_log(worker, split(work)[0])[0])
        keep_cost(worker, work.id, directory=directory)
    except OSError as error:
        raise ExecutorError(
            f"what call {work.id} cost cannot be kept in {directory}: {error.strerror or error}",
            hint="make room, then resume",
        ) from error
