"""Candidates beside each other: what each changed, what it scored, what only one of them touched.

Knows the state of a run and git; must not know stores, and writes nothing.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from budwood._core.choice import choice, competes
from budwood._core.model import TaskId, TaskPhase
from budwood._core.scores import Score
from budwood._core.state import RunState, TaskState
from budwood.review.changes import Change, changes, write_out
from budwood.review.undecided import come_to
from budwood.workspaces.git import Git


class Compared(Struct, frozen=True, kw_only=True):
    """One candidate, beside others."""

    task: TaskId
    attempt: int
    state: TaskPhase
    description: str
    agent: str
    model: str | None
    decision: str
    """What was decided about it, by a person or by the strategy; empty if nothing was."""
    why: str
    is_best: bool
    score: Score | None
    cost_usd: float
    untold: int
    """Attempts that did not say what they cost."""
    duration_s: float | None
    candidate: str
    """Its commit."""
    files: list[Change]
    """What it changed of what the run began with."""
    only_here: list[str]
    """Files that no other of these touched."""


class Variant(Struct, frozen=True, kw_only=True):
    """What one or more candidates made of one file: all of these the same."""

    tasks: tuple[TaskId, ...]
    patch: str


def comparable(state: RunState) -> list[TaskState]:
    """List the tasks that are worth comparing: those that compete and left something; else all that left changes."""
    rivals = [
        task
        for task in state.tasks
        if competes(state, task) and not task.spec.helps and (task.spec.score or task.judgement)
    ]
    others = [task for task in state.tasks if not task.removed and task.spec.errand is None]
    return [task for task in rivals or others if (left := come_to(task)) is not None and (rivals or left.left.files)]


def compare(
    state: RunState, git: Git, tasks: Iterable[TaskState], *, durations_s: Mapping[int, float]
) -> list[Compared]:
    """Lay what tasks made side by side, in the order given; those without anything are left out."""
    assert state.settings.workspace is not None
    base, best = state.settings.workspace.base, choice(state)
    found = [(task, made) for task in tasks if (made := come_to(task)) is not None]
    lists = {task.number: changes(git, base, made.left.candidate) for task, made in found}
    touched = Counter(change.path for each in lists.values() for change in each)
    return [
        Compared(
            task=task.spec.id,
            attempt=made.attempt,
            state=task.phase,
            description=task.spec.description,
            agent="" if made.told is None else made.told.agent,
            model=task.spec.model if made.told is None else made.told.model or task.spec.model,
            decision=_decision(task),
            why="" if task.judgement is None else task.judgement.why,
            is_best=best is not None and best.task is task,
            score=task.score,
            cost_usd=round(task.cost_usd, 6),
            untold=task.untold,
            duration_s=durations_s.get(task.number),
            candidate=made.left.candidate,
            files=lists[task.number],
            only_here=[change.path for change in lists[task.number] if touched[change.path] == 1],
        )
        for task, made in found
    ]


def _decision(task: TaskState) -> str:
    if task.review is not None and task.review.value != "waiting":
        return task.review.value
    return "" if task.judgement is None else task.judgement.decision


def by_file(git: Git, base: str, compared: Sequence[Compared]) -> dict[str, list[Variant]]:
    """Write what was made of every file, those who made the same of it together; files in the order of their names."""
    found: dict[str, list[Variant]] = {}
    for path in sorted({change.path for each in compared for change in each.files}):
        patches: dict[str, list[TaskId]] = {}
        for each in compared:
            if any(change.path == path for change in each.files):
                patch = write_out(git, base, each.candidate, only=path).decode(errors="replace")
                patches.setdefault(patch, []).append(each.task)
        found[path] = [Variant(tasks=tuple(tasks), patch=patch) for patch, tasks in patches.items()]
    return found
