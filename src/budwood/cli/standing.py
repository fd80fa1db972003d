"""Where one run stands, on one screen: what `status` shows, and the shapes of its JSON.

Knows state and reasons. Must not read a clock or a store.
"""

import shlex

from msgspec import Struct

from budwood._core.model import ENDED_RUN, AttemptPhase, RunPhase, TaskId, TaskPhase
from budwood._core.rows import RunRow
from budwood._core.state import TaskState
from budwood.cli.found import Found
from budwood.cli.reasons import Scene, held_back
from budwood.cli.verdict import more_flag
from budwood.project.find import begin_command
from budwood.project.times import iso
from budwood.review.undecided import undecided

MOST = 20
"""So many tasks that wait or failed are listed; `show` has all."""


class OpenAttempt(Struct, frozen=True, kw_only=True):
    """An attempt that runs or is about to."""

    task: TaskId
    attempt: int
    state: AttemptPhase
    slot: int
    pid: int | None
    started_at: str | None
    elapsed_s: float
    question: str | None
    """What it asks a person, and waits for."""
    progress: str | None
    """How far it says that it has come."""
    found: Found | None
    """What it has come to, where nobody drives the run to record it; None while somebody does."""


class Waiting(Struct, frozen=True, kw_only=True):
    """A task that is ready, and why it does not run."""

    task: TaskId
    reason: str


class Failure(Struct, frozen=True, kw_only=True):
    """A task that failed, and its last error."""

    task: TaskId
    type: str
    message: str
    attempts: int


def open_attempts(scene: Scene) -> list[OpenAttempt]:
    """List the open attempts by slot."""
    found = [_open_attempt(scene, task) for task in scene.state.open.values()]
    return sorted(found, key=lambda attempt: attempt.slot)


def waiting(scene: Scene) -> list[Waiting]:
    """List what is ready, in the order in which it would start."""
    ready = sorted((task for task in scene.state.tasks if task.phase is TaskPhase.READY), key=lambda task: task.rank)
    return [Waiting(task=task.spec.id, reason=held_back(scene, task).text) for task in ready[:MOST]]


def failures(scene: Scene) -> list[Failure]:
    """List what failed."""
    failed = [task for task in scene.state.tasks if task.phase is TaskPhase.FAILED and not task.removed]
    return [_failure(scene, task) for task in failed[:MOST]]


def way_on(scene: Scene, row: RunRow) -> str | None:
    """Name the command that lets a run go on which does not; None if it goes on or has ended."""
    state = scene.state
    if scene.moved_to is not None:
        return f"budwood status {shlex.quote(row.name)} --store {shlex.quote(scene.moved_to)}"
    if row.last_event == 0:
        return begin_command(row) if scene.driver is None else None
    if state.phase is RunPhase.PAUSED or (state.phase not in ENDED_RUN and scene.driver is None):
        more = f" {more_flag(state.reason)}" if state.pause_kind == "budget" else ""
        return f"budwood resume {shlex.quote(row.name)}{more}"
    return None


def answer_command(run: str, task: TaskId) -> str:
    """Write the command that answers what a task asks."""
    return f"budwood answer {shlex.quote(run)} {shlex.quote(str(task))} TEXT"


def open_command(run: str, line: str) -> str:
    """Write the command that shows where a conflict is to be solved."""
    return f"budwood open {shlex.join([run, line.partition(' ')[2]])}"


def next_command(scene: Scene, row: RunRow) -> str | None:
    """Name the one command that helps this run on, if there is one."""
    follows = way_on(scene, row)
    if follows is not None:
        return follows
    asking = next((task for task in scene.state.open.values() if task.attempt and task.attempt.asks), None)
    if asking is not None:
        return answer_command(row.name, asking.spec.id)
    for line in scene.state.landing.conflicts:
        return open_command(row.name, line)
    if scene.state.counts[TaskPhase.FAILED]:
        return f"budwood why {shlex.quote(row.name)}"
    waits = next(undecided(scene.state), None) is not None
    return f"budwood review {shlex.quote(row.name)}" if waits else None


def _open_attempt(scene: Scene, task: TaskState) -> OpenAttempt:
    attempt = task.attempt
    assert attempt is not None
    since = attempt.started_at_ms or attempt.queued_at_ms
    return OpenAttempt(
        task=task.spec.id,
        attempt=attempt.number,
        state=attempt.phase,
        slot=attempt.slot,
        pid=attempt.pid,
        started_at=iso(attempt.started_at_ms),
        elapsed_s=round(max(0, scene.now_ms - since) / 1000, 3),
        question=None if attempt.asks is None else attempt.asks.text,
        progress=None if attempt.progress is None else attempt.progress.words,
        found=scene.found_of(task),
    )


def _failure(scene: Scene, task: TaskState) -> Failure:
    error = scene.error_of(task)
    kind, message = (task.error_type, "") if error is None else (error.type, error.message)
    return Failure(task=task.spec.id, type=kind, message=message, attempts=task.attempts)
