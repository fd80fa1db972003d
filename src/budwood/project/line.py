"""A line of history that is to be published: one task's candidate, or a lane.

Knows the desk. Must not move anything.
"""

from dataclasses import dataclass

from budwood._core.candidates import lane_of
from budwood._core.model import AttemptPhase, Review
from budwood._core.state import TaskState
from budwood.errors import NoSuchId, UsageError
from budwood.project.desk import Desk
from budwood.review.lanes import undone_within, within


@dataclass(frozen=True, slots=True)
class Line:
    """What is to be published, and all that is in it."""

    called: str
    branch: str
    commit: str
    tasks: list[TaskState]
    """Whose candidates it holds."""
    about: str

    @property
    def ids(self) -> list[str]:
        """Name those tasks."""
        return [str(task.spec.id) for task in self.tasks]


def find_line(desk: Desk, given: str) -> Line:
    """Find the lane or the task that is meant; refused where it was not accepted, or holds what is not wanted.

    A lane is also found by its branch: where lanes and tasks are numbered alike, that tells them apart.
    """
    lanes = {str(lane.id) for lane in desk.state.lanes}
    branches = {desk.branch_of(f"lane {lane}"): lane for lane in lanes}
    if given in lanes and given in desk.state.by_id:
        raise NoSuchId(f"run {desk.row.name} has a lane and a task {given}", hint=_apart(desk, given))
    lane = given if given in lanes else None if given in desk.state.by_id else branches.get(given)
    line = _task(desk, given) if lane is None else _lane(desk, lane)
    rejected = [str(task.spec.id) for task in line.tasks if task.review is Review.REJECTED]
    if rejected:
        raise UsageError(
            f"{line.called} of run {desk.row.name} holds what was rejected: {', '.join(rejected)}",
            hint=f"budwood revise {desk.row.name} {rejected[0]} TEXT, or budwood approve {desk.row.name} {rejected[0]}",
        )
    undone = [str(task.spec.id) for task in undone_within(desk.state, desk.git, line.commit)]
    if undone:
        raise UsageError(
            f"{line.called} of run {desk.row.name} holds what was sent back and is not done: {', '.join(undone)}",
            hint=f"budwood revise {desk.row.name} {undone[0]} TEXT goes on with it",
        )
    return line


def _apart(desk: Desk, given: str) -> str:
    """Say what else the lane and the task of one name are called."""
    made, branch = desk.state.task(given).made, desk.branch_of(f"lane {given}")
    told = [f"{branch} is the lane"] if branch else []
    told += [f"{given}.{made.attempt} is the task"] if made is not None else []
    return ", ".join(told) or "rename one of them in the plan"


def _lane(desk: Desk, lane: str) -> Line:
    key = f"lane {lane}"
    head = desk.state.heads.get(key)
    if head is None:
        raise UsageError(
            f"lane {lane} of run {desk.row.name} has come to nothing yet", hint=f"budwood lanes {desk.row.name}"
        )
    return _line(desk, f"lane {lane}", desk.branch_of(key) or f"lane-{lane}", head)


def _task(desk: Desk, given: str) -> Line:
    found = desk.find(given)
    task = found.task.spec.id
    if found.task.spec.helps:
        raise UsageError(f"task {task} of run {desk.row.name} only helps the search: what it left is no candidate")
    if not found.is_accepted:
        how = "is not its last word" if found.phase is AttemptPhase.SUCCEEDED else found.phase.value.replace("_", " ")
        raise UsageError(
            f"attempt {found.attempt} at task {task} of run {desk.row.name} {how}: only what was accepted is merged",
            hint=f"budwood branch {desk.row.name} {found.name} NAME makes a branch of what it left",
        )
    lane = lane_of(found.task.spec)
    branch = desk.branch_of(lane) or lane.replace(" ", "-")
    if desk.state.heads.get(lane) != found.left.candidate:  # the lane has gone on since
        branch = f"{branch}-at-{found.task.number}.{found.attempt}"
    return _line(desk, f"task {task}", branch, found.left.candidate)


def _line(desk: Desk, called: str, branch: str, commit: str) -> Line:
    tasks = within(desk.state, desk.git, commit)
    if not tasks:
        raise UsageError(f"{called} of run {desk.row.name} changed nothing: there is nothing to merge")
    about = "\n".join(f"- {task.spec.id}: {_what(task)}".rstrip(": ") for task in tasks)
    return Line(called, branch, commit, tasks, about)


def _what(task: TaskState) -> str:
    text = task.spec.description or task.spec.prompt
    return text.strip().splitlines()[0][:100] if text.strip() else ""
