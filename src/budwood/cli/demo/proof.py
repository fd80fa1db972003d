"""Checks that nothing was lost and nothing done twice, by the files that tasks wrote, the store and the decision logs.

Knows what the plan's tasks write. Believes nobody: files are counted, not what commands say about them.
"""

from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from budwood._core.decisions import decision_lines
from budwood._core.events import RunAccounted
from budwood._core.model import TaskPhase
from budwood._core.replay import fold
from budwood.cli.demo.plan import TASKS
from budwood.cli.demo.stage import Stage


class Finding(Struct, frozen=True):
    """One thing that must hold, and whether it does."""

    holds: bool
    text: str


def findings(stage: Stage, undisturbed: Stage, *, killed_while: int) -> Iterator[Finding]:
    """Check everything; `killed_while` is how many attempts ran when the driver was killed."""
    project = stage.project
    with stage.open_store() as store:
        row = store.runs()[-1]
        events = list(store.read(row.id))
    state = fold(events)
    done = state.counts[TaskPhase.DONE]
    yield Finding(done == len(TASKS), f"{done} of {len(TASKS)} tasks are done")
    did = {task.id: _lines(project / "did" / task.id) for task in TASKS}
    once = sum(number == 1 for number in did.values())
    yield Finding(once == len(TASKS), f"{once} tasks did their work exactly once: {once} files in did/, one line each")
    began = sum(_lines(project / "began" / task.id) for task in TASKS)
    wanted = len(TASKS) + sum(task.flaky for task in TASKS)
    yield Finding(
        began == row.attempts == wanted,
        f"{began} attempts were begun, {row.attempts} were counted: one per task, and the one retry",
    )
    adopted = sum(each.event.adopted for each in events if isinstance(each.event, RunAccounted))
    requeued = sum(each.event.requeued for each in events if isinstance(each.event, RunAccounted))
    yield Finding(
        adopted > 0 and requeued == 0,
        f"of {killed_while} attempts that ran at the kill {adopted} were adopted, {requeued} ran again; "
        "the others had left their results",
    )
    with undisturbed.open_store() as store:
        other = fold(store.read(store.runs()[-1].id))
    same = list(decision_lines(state)) == list(decision_lines(other))
    yield Finding(same, f"the decision log is {'byte for byte' if same else 'NOT'} that of an undisturbed run")
    code, text = stage.call("store", "verify")
    yield Finding(code == 0, f"budwood store verify: {text.strip().splitlines()[-1] if text.strip() else 'no answer'}")
    left = list(_processes_of(row.id))
    yield Finding(not left, f"{len(left) or 'no'} process{'es are' if len(left) != 1 else ' is'} left over")


def _lines(path: Path) -> int:
    try:
        return len(path.read_text().splitlines())
    except FileNotFoundError:
        return 0


def _processes_of(run: str) -> Iterator[str]:
    """Find processes that carry the run's mark; where there is no /proc, none are found."""
    mark = f"BUDWOOD_MARK={run}:".encode()
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark in path.read_bytes():
                yield path.parent.name
        except OSError:
            continue  # it ended meanwhile, or is somebody else's
