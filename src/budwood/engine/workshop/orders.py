"""An attempt in a workspace, as it is ordered: where it starts from, who is asked for what.

A function of the state, so that an attempt that never began is ordered again word for word. Knows the state; must not
know git, files or agents.
"""

from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

from budwood._core.branches import lane_branch
from budwood._core.candidates import lane_of
from budwood._core.ids import free_name
from budwood._core.model import PLAN, Left, Reviewer, TaskId, TaskSpec, WorkspaceTerms
from budwood._core.scores import Score, Scoring
from budwood._core.state import Note, RunState, TaskState
from budwood.executors.base import Work


class Dependency(Struct, frozen=True, kw_only=True):
    """What a task stands on: a candidate that is in its workspace."""

    task: TaskId
    description: str
    base: str
    candidate: str


class Order(Work, frozen=True, kw_only=True):
    """A piece of work that wants a workspace, and maybe an agent. Its steps are made when it has one."""

    task: TaskId
    number: int
    attempt: int
    run: str | tuple[str, ...] | None = None
    starts: tuple[str, ...]
    """Commits whose files it starts with, all merged into the first."""
    agent: str = ""
    model: str | None = None
    session: str | None = None
    spent: tuple[int, int, int] = (0, 0, 0)
    """What that session has used before."""
    goal: str = ""
    text: str = ""
    wish: str = ""
    notes: tuple[Note, ...] = ()
    dependencies: tuple[Dependency, ...] = ()
    reads: tuple[Dependency, ...] = ()
    """What its agent is shown of others; none of it is in its workspace."""
    on_conflict: Literal["fail", "first"] = "fail"
    check: str | None = None
    reviewer: str | Reviewer | None = None
    unreviewed: Left | None = None
    """What its agent has made before: only a review of that is missing, so that the agent is not asked again."""
    began: str = ""
    """The commit that the work began with which is gone on with."""
    allow_unchanged: bool = False
    unmarked: tuple[str, ...] = ()
    """Files that may hold no mark of a conflict when it ends."""
    score: Scoring | None = None
    bar: Score | None = None
    """Of the candidate that it grew from, which it must not be worse than."""
    seed: int = 0
    """Of the run: what is random in a score comes from it."""
    must_be_valid: bool = False
    """Whether it fails if what it made is not valid; a search knows what to do with that."""
    takes_notes: bool = False
    """Whether it has a directory for what it wants to say, and is not part of what it made."""

    @property
    def asks_review(self) -> bool:
        """Say whether an agent reviews what it made."""
        return isinstance(self.reviewer, Reviewer)


def make_order(state: RunState, task: TaskState, plain: Work) -> Order:
    """Order the newest attempt of a task; `plain` is what it is beside its workspace."""
    spec, terms, attempt = task.spec, state.settings.workspace, task.attempt
    assert terms is not None
    assert attempt is not None
    go_on = task.go_on
    session = go_on if go_on is not None and go_on.agent == attempt.agent else None
    return Order(
        **{name: getattr(plain, name) for name in plain.__struct_fields__},
        task=spec.id,
        number=task.number,
        attempt=attempt.number,
        run=spec.run,
        starts=_starts(state, task, terms),
        agent=attempt.agent,
        model=spec.model,
        session=None if session is None else session.session,
        spent=(0, 0, 0) if session is None or session.session is None else session.spent,
        goal=state.settings.goal,
        text=spec.prompt,
        wish="" if go_on is None else go_on.wish,
        notes=task.notes,
        dependencies=_shown(_stands_on(state, task)),
        reads=_shown((state.task(name) for name in spec.reads), base=terms.base),
        on_conflict=spec.on_conflict,
        check=spec.check,
        reviewer=spec.reviewer if spec.prompt and spec.run is None else None,
        unreviewed=None if go_on is None else go_on.unreviewed,
        began="" if go_on is None else go_on.began,
        allow_unchanged=spec.allow_unchanged or spec.run is not None,
        unmarked=() if spec.errand is None else spec.errand.files,
        score=spec.score,
        bar=_bar(state, spec),
        seed=state.settings.seed,
        must_be_valid=state.strategy == PLAN,
        takes_notes=state.strategy != PLAN,
    )


def _shown(others: Iterable[TaskState], *, base: str = "") -> tuple[Dependency, ...]:
    """Describe what tasks have come to, from a base, or each from where it began."""
    return tuple(
        Dependency(
            task=other.spec.id,
            description=other.spec.description,
            base=base or other.made.left.base,
            candidate=other.made.left.candidate,
        )
        for other in others
        if other.made is not None
    )


def _bar(state: RunState, spec: TaskSpec) -> Score | None:
    """Return the score of what a task grows from, if it must not be worse."""
    if spec.score is None or spec.score.gate == "none" or not spec.after or state.strategy == PLAN:
        return None
    return state.task(spec.after[0]).score


def _starts(state: RunState, task: TaskState, terms: WorkspaceTerms) -> tuple[str, ...]:
    """Begin with what is gone on with, else where the lane is; then what it stands on in other lanes, in task order.

    An errand says itself where it starts.
    """
    lane, errand = lane_of(task.spec), task.spec.errand
    if errand is not None:
        return (errand.start,)
    begun = () if task.go_on is None else (task.go_on.candidate,)
    others = (
        other.made.left.candidate
        for other in _stands_on(state, task)
        if other.made is not None and lane_of(other.spec) != lane
    )
    return tuple(dict.fromkeys((*begun, state.heads.get(lane, terms.base), *others)))


def _stands_on(state: RunState, task: TaskState) -> list[TaskState]:
    """Return what a task stands on, in task order; as the task names it where the first of them has its way."""
    hard = state.hard[task.number]
    if task.spec.on_conflict == "first":
        named = [state.task(name) for name in task.spec.after]
        return [other for other in named if other.number in hard]
    return [state.tasks[number] for number in sorted(hard)]


def branch_names(state: RunState) -> dict[str, str]:
    """Name the branch of every line of history that has come to something, in the order of lanes and tasks."""
    word = "lane" if state.settings.workspace is None else state.settings.workspace.word
    wanted = {f"lane {lane.id}": lane_branch(lane.id, lane.name, word=word) for lane in state.lanes}
    for task in state.tasks:
        if task.spec.errand is not None:
            continue
        wanted.setdefault(lane_of(task.spec), lane_branch(task.spec.id, "", word="task"))
    names: dict[str, str] = {}
    for lane, name in wanted.items():
        names[lane] = free_name(name, names.values())
    return names
