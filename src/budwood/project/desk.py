"""A run whose attempts had workspaces, for whoever looks at what they made and decides about it.

Knows the run's state and its repository. Must not write to either.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from budwood._core.candidates import is_searched
from budwood._core.events import AttemptEnded, Recorded
from budwood._core.ids import safe_name
from budwood._core.model import AttemptPhase, Left, Told, WorkspaceTerms
from budwood._core.replay import fold
from budwood._core.rows import RunRow, TaskRow
from budwood._core.state import RunState, TaskState
from budwood.engine.workshop.branches import Branches, made_by_us
from budwood.engine.workshop.orders import branch_names
from budwood.errors import NoSuchId, UsageError
from budwood.project.bench import run_refs
from budwood.project.find import find_task
from budwood.project.place import project_of, state_home
from budwood.project.words import some
from budwood.project.workspaces import Ground, find_ground, make_pool, pool_folder
from budwood.review.undecided import come_to
from budwood.stores import Store
from budwood.workspaces import Pool, Repository
from budwood.workspaces.git import Git


class Candidate(NamedTuple):
    """What one attempt made."""

    task: TaskState
    attempt: int
    phase: AttemptPhase
    left: Left
    told: Told | None

    @property
    def name(self) -> str:
        """Write it as the command line takes it."""
        return f"{self.task.spec.id}.{self.attempt}"

    @property
    def is_accepted(self) -> bool:
        """Say whether its task is done with this."""
        made = come_to(self.task)
        return self.phase is AttemptPhase.SUCCEEDED and made is not None and made.attempt == self.attempt


@dataclass(frozen=True)
class Desk:
    """A run, and where what its attempts made lies."""

    store: Store
    row: RunRow
    state: RunState
    terms: WorkspaceTerms
    ground: Ground

    @property
    def repository(self) -> Repository:
        """The repository that has it."""
        return self.ground.repository

    @property
    def git(self) -> Git:
        """Git, aimed at that."""
        return self.ground.repository.git

    @property
    def refs(self) -> str:
        """Where the refs of the run are."""
        return run_refs(self.row.name, self.row.id)

    @property
    def pool_folder(self) -> Path:
        """Where the directories of its pool lie."""
        return pool_folder(self.ground, self.state.settings.pool)

    def pool(self) -> Pool:
        """Open its pool."""
        return make_pool(self.ground, self.terms, folder=self.pool_folder)

    def branch_of(self, lane: str) -> str | None:
        """Name the branch that shows where a lane has come to, if there is one."""
        return self._branches.get(lane)

    @cached_property
    def _branches(self) -> dict[str, str]:
        made = Branches(self.repository, self.refs).made()
        return {lane: made[wanted] for lane, wanted in branch_names(self.state).items() if wanted in made}

    def refuse_outside_git(self, what: str) -> None:
        """Refuse what needs a repository of the user's own."""
        if not self.ground.in_git:
            raise UsageError(
                f"run {self.row.name} worked on copies of {self.ground.repository.root}, which is in no git "
                f"repository: there is no branch to {what}",
                hint=f"budwood apply {self.row.name} TASK writes files back",
            )

    def refuse_ours(self, branch: str) -> None:
        """Refuse to merge into a branch that shows where a lane is: no run would know its own any more."""
        if branch in made_by_us(self.repository):
            raise UsageError(
                f"branch {branch} is moved by budwood alone: it shows where a lane has come to",
                hint=f"git branch NAME {branch} makes one of your own there; then --into NAME",
            )

    def find(self, given: str) -> Candidate:
        """Find what is meant by TASK or TASK.N; without a number, what the task has come to."""
        task, number = self._named(given)
        state = self.state.tasks[task.number]
        ends = {end.attempt: end for end in ends_of(self.store, self.row, task)}
        if number is None:
            made = come_to(state)
            number = None if made is None else made.attempt
            if number is None:
                raise NoSuchId(
                    f"no attempt at task {task.id} of run {self.row.name} has left anything yet: "
                    f"it is {task.phase.value}",
                    hint=f"budwood why {self.row.name} {task.id}",
                )
        end = ends.get(number)
        if end is None or end.left is None:
            known = some(each for each, end in ends.items() if end.left is not None) or "none"
            raise NoSuchId(
                f"attempt {number} at task {task.id} of run {self.row.name} has left nothing",
                hint=f"attempts that have: {known}",
            )
        return Candidate(state, number, end.phase, end.left, end.told)

    def base_of(self, candidate: Candidate) -> str:
        """Return the commit that a candidate's changes are counted from: what its attempt began with, or the first of
        those that went on with one another's work.

        What a search merged is part of what it made, and so its changes are counted from what the merged ones share.
        """
        task = candidate.task
        if len(task.spec.after) < 2 or not is_searched(self.state, task):
            return candidate.left.began
        merged = [made.left.candidate for name in task.spec.after if (made := self.state.task(name).made) is not None]
        return self.git.ask("merge-base", "--octopus", *merged)

    def _named(self, given: str) -> tuple[TaskRow, int | None]:
        """Take an id for what it says first: a task may have a point in its name."""
        ids = {str(task.spec.id) for task in self.state.tasks}
        head, _, tail = given.rpartition(".")
        if given not in ids and tail.isdecimal() and (head in ids or not any(each.startswith(given) for each in ids)):
            return find_task(self.store, self.row, head), int(tail)
        return find_task(self.store, self.row, given), None


def sit_down(store: Store, row: RunRow) -> Desk:
    """Read a run and find its repository; refused where its attempts had no workspaces."""
    state = fold(store.read(row.id), again=lambda: store.read(row.id))
    terms = state.settings.workspace
    if terms is None:
        raise UsageError(
            f"run {row.name} has no workspaces: its tasks worked in {row.cwd} itself, and left there what they made",
            hint='workspace = "clone" gives every attempt a directory of its own; agents always get one',
        )
    return Desk(store, row, state, terms, find_ground(project_of(row), terms.kind))


def ends_of(store: Store, row: RunRow, task: TaskRow) -> list[AttemptEnded]:
    """Read how the attempts at a task ended, in their order."""
    numbers = [attempt.end_event for attempt in store.attempts(row.id, task.number)]
    found = (next(iter(store.read(row.id, number - 1))).event for number in numbers if number is not None)
    return [event for event in found if isinstance(event, AttemptEnded)]


def all_left(events: Iterable[Recorded]) -> dict[str, Left]:
    """List everything that attempts left, by `TASK.N`."""
    ends = (each.event for each in events if isinstance(each.event, AttemptEnded))
    return {f"{end.task}.{end.attempt}": end.left for end in ends if end.left is not None}


def opened_folder() -> Path:
    """Return where directories lie that were opened to be looked at."""
    return state_home() / "opened"


def opened_name(desk: Desk, candidate: Candidate) -> str:
    """Name a directory for what one attempt left."""
    return f"{desk.row.name}-{safe_name(str(candidate.task.spec.id), fallback='task')}-{candidate.attempt}"
