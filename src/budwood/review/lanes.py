"""Where the lanes of a run stand: how much of each is done, where its branch is, what it cost.

Knows the state and git; must not know what a branch is called.
"""

from collections.abc import Callable, Iterator

from msgspec import Struct

from budwood._core.candidates import is_undone
from budwood._core.landing import members
from budwood._core.lane_phase import lane_phase
from budwood._core.model import LanePhase, TaskId, TaskPhase
from budwood._core.state import RunState, TaskState
from budwood.review.changes import entries
from budwood.workspaces.git import Git
from budwood.workspaces.merging import is_ancestor


class Lane(Struct, frozen=True, kw_only=True):
    """A lane at a glance."""

    lane: TaskId
    phase: LanePhase
    branch: str | None
    head: str | None
    """The commit of what was last accepted in it."""
    done: int
    tasks: int
    files: int
    """How many differ from what the run started with."""
    cost_usd: float
    untold: int
    """Attempts that did not say what they cost."""


def look_at_lanes(state: RunState, git: Git, *, branch_of: Callable[[str], str | None]) -> Iterator[Lane]:
    """Describe the lanes in their order, then tasks that are lanes of their own; one without tasks is left out."""
    terms = state.settings.workspace
    assert terms is not None
    for line, numbers in members(state).items():
        tasks = [state.tasks[number] for number in numbers]
        head = state.heads.get(line)
        first = tasks[0].spec
        yield Lane(
            lane=first.id if first.lane is None else first.lane,
            phase=lane_phase(state, line, numbers),
            branch=branch_of(line),
            head=head,
            done=sum(task.phase is TaskPhase.DONE for task in tasks),
            tasks=len(tasks),
            files=0 if head is None else len(entries(git, terms.base, head)),
            cost_usd=round(sum(task.cost_usd for task in tasks), 6),
            untold=sum(task.untold for task in tasks),
        )


def within(state: RunState, git: Git, commit: str) -> list[TaskState]:
    """List the tasks whose candidates a commit holds, in task order: what is merged with it."""
    done = [
        task
        for task in state.tasks
        if task.phase is TaskPhase.DONE and task.made is not None and task.spec.errand is None
    ]
    return [
        task
        for task in done
        if task.made is not None and task.made.left.files and is_ancestor(git, task.made.left.candidate, commit)
    ]


def undone_within(state: RunState, git: Git, commit: str) -> list[TaskState]:
    """List the tasks whose work a commit holds that counts no more."""
    return [
        task
        for task in state.tasks
        if task.made is not None and is_undone(task) and is_ancestor(git, task.made.left.candidate, commit)
    ]
