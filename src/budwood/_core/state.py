"""What a run has come to: the fold of its events.

Changed by `machine` alone (and its queue of ready tasks by `schedule`). Knows the model and the graph; must not know
stores, clocks or processes.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

from budwood._core.events import AttemptEnded, Clash, LaneConflicted, LaneHeld, LanesJoined, MergeAsked, MergeStopped
from budwood._core.model import (
    ENDED_TASK,
    PLAN,
    AttemptPhase,
    LaneSpec,
    Left,
    Review,
    RunPhase,
    RunSettings,
    TaskId,
    TaskPhase,
    TaskSpec,
    Told,
)
from budwood._core.scores import Judgement, Score

Rank = tuple[int, int, int, int]
"""Soft dependencies open, minus priority, minus longest remaining path, number: the smallest starts first."""


Lines = tuple[tuple[str, str], ...]
"""Lines of history, each with the commit that it has come to."""

CREATED = -1
"""The ask of tasks that nobody but a request asked for."""


class Question(NamedTuple):
    """What an attempt asked a person."""

    number: int
    text: str
    asked_at_ms: int
    answer: str | None = None


class Progress(NamedTuple):
    """How far an attempt says that it has come."""

    text: str
    percent: float | None
    at_ms: int

    @property
    def words(self) -> str:
        """Say it in a line."""
        return self.text if self.percent is None else f"{self.percent:.0f} %, {self.text}"


@dataclass(slots=True)
class AttemptState:
    """The open attempt at a task; those that have ended live in the store only."""

    number: int
    phase: AttemptPhase
    key: str
    spec: TaskSpec
    """The task as it was when this was queued: what is held is given back, whatever the plan says by then."""
    retry: int
    slot: int
    queued_at_ms: int
    gpus: tuple[str, ...] = ()
    agent: str = ""
    reserved_usd: float = 0.0
    started_at_ms: int | None = None
    pid: int | None = None
    question: Question | None = None
    """The last one; open while it has no answer."""
    progress: Progress | None = None

    @property
    def asks(self) -> Question | None:
        """Return the question that has no answer yet."""
        return self.question if self.question is not None and self.question.answer is None else None


class GoOn(NamedTuple):
    """Where the next attempt at a task takes up what an earlier one left unfinished."""

    candidate: str
    agent: str
    session: str | None
    spent: tuple[int, int, int]
    """What that session has used so far."""
    wish: str = ""
    """What somebody wants of it beside."""
    unreviewed: Left | None = None
    """What its agent has made already, where only a review of it is missing."""
    began: str = ""
    """The commit that all of it began with."""


class Note(NamedTuple):
    """How an attempt at a task failed, for the next one."""

    attempt: int
    ended: str
    check_said: str


class Made(NamedTuple):
    """What one attempt at a task left."""

    attempt: int
    left: Left
    told: Told | None


class Remark(NamedTuple):
    """What an attempt left elsewhere than in its candidate."""

    task: TaskId
    attempt: int
    outside: tuple[str, ...]
    """What of the user's own changed meanwhile."""
    not_kept: tuple[str, ...]
    inside: tuple[str, ...]
    """What is kept, and no part of the candidate."""


@dataclass(slots=True)
class TaskState:
    """A task and where it stands."""

    number: int
    spec: TaskSpec
    key: str = ""
    phase: TaskPhase = TaskPhase.BLOCKED
    waiting: int = 0
    """Hard dependencies that are not done."""
    soft_waiting: int = 0
    """Soft dependencies that have not ended."""
    path: int = 1
    batch: int = 1
    """Of the graph, from 1; 0 for what the merge queue has done."""
    ask: int = 0
    """Which answer of the strategy it is from; CREATED where it is from none."""
    parent: int | None = None
    """The task whose attempt created it."""
    depth: int = 0
    """How many tasks of that kind lead to it."""
    children: int = 0
    """How many tasks its attempts have created."""
    attempts: int = 0
    tries: int = 0
    """Attempts that counted since the task was last wanted: the next one's retry index."""
    rounds: int = 0
    """How many of those its reviewer sent back."""
    lost: int = 0
    not_before_ms: int = 0
    cost_usd: float = 0.0
    guessed_usd: float = 0.0
    """The part of that which no attempt has said: what those had set aside that did not say."""
    untold: int = 0
    """Attempts, and reviews of them, that did not say what they cost."""
    attempt: AttemptState | None = None
    ended: AttemptPhase | None = None
    """How the newest attempt that has ended did."""
    because: TaskId | None = None
    error_type: str = ""
    completions: tuple[tuple[str, int], ...] = ()
    """Keys under which it was done, and after how many tries: an edit that is undone repeats nothing."""
    cancelling: bool = False
    removed: bool = False
    made: Made | None = None
    """What its successful attempt left."""
    score: Score | None = None
    """Of what its newest attempt made that was scored."""
    judgement: Judgement | None = None
    """What the strategy did with it last."""
    last: Made | None = None
    """What the newest attempt left that left anything."""
    review: Review | None = None
    notes: tuple[Note, ...] = ()
    """What attempts since the task was last wanted say to the next one."""
    go_on: GoOn | None = None

    def tries_until_done(self, key: str) -> int | None:
        """Say after how many tries it was done under a key; None if it never was."""
        return next((tries for done, tries in self.completions if done == key), None)

    @property
    def is_created(self) -> bool:
        """Say whether it joined while the run went on, by a request."""
        return self.ask == CREATED

    @property
    def rank(self) -> Rank:
        """Say how early this task should start."""
        return (1 if self.soft_waiting else 0, -self.spec.priority, -self.path, self.number)


@dataclass(slots=True)
class Spending:
    """What the run has used up and what its open attempts may still use."""

    cost_usd: float = 0.0
    guessed_usd: float = 0.0
    """The part of that which no attempt has said."""
    untold: int = 0
    """Attempts, and reviews of them, that did not say what they cost."""
    tokens: int = 0
    reserved_usd: float = 0.0
    reserved_tokens: int = 0
    attempts: int = 0


@dataclass(slots=True)
class Holdings:
    """Which limited things the open attempts hold."""

    lanes: dict[str, int] = field(default_factory=dict)
    groups: dict[str, int] = field(default_factory=dict)
    cpus: float = 0.0
    gpus: set[str] = field(default_factory=set)
    slots: set[int] = field(default_factory=set)


@dataclass(slots=True)
class Queue:
    """Ready tasks by rank, and those held back by what they wait for. Entries may be stale: look before use."""

    ready: list[Rank] = field(default_factory=list)
    parked: dict[str, list[Rank]] = field(default_factory=dict)
    machine_freed: bool = False
    """Whether there may be room for the first of those that wait for cpus or gpus."""


class Ended(NamedTuple):
    """An attempt that ended; its task may have the next one before rows are taken."""

    task: int
    attempt: AttemptState
    event: AttemptEnded
    number: int
    at_ms: int


@dataclass(slots=True)
class Touched:
    """What changed since rows were last taken."""

    tasks: set[int] = field(default_factory=set)
    attempts: set[int] = field(default_factory=set)
    ended: list[Ended] = field(default_factory=list)
    edges: set[int] = field(default_factory=set)


@dataclass(slots=True)
class Landing:
    """How far the merge queue has come."""

    asked: MergeAsked | None = None
    joins: dict[Lines, LanesJoined] = field(default_factory=dict)
    """By what was to be merged, what came of it; empty again once it is in a branch."""
    verifies: dict[str, int] = field(default_factory=dict)
    """By commit, the number of the task that verifies it."""
    resolves: dict[tuple[str, str], int] = field(default_factory=dict)
    """By line and where that stood, the number of the task that is to solve its conflicts."""
    merged: dict[str, str] = field(default_factory=dict)
    """By line, the commit of it that is in the run's branch."""
    commit: str = ""
    """Where the run's branch stands, and its shadow."""
    shadow: str = ""
    branch: str = ""
    delivered: dict[str, str] = field(default_factory=dict)
    """By branch of the user's, what it was moved to."""
    clashes: dict[str, Clash] = field(default_factory=dict)
    """By line, what nobody has been asked to solve yet."""
    conflicts: dict[str, LaneConflicted] = field(default_factory=dict)
    held: dict[str, LaneHeld] = field(default_factory=dict)
    stopped: MergeStopped | None = None
    moved: int = 0
    """How often the target has moved since something was last published."""

    @property
    def waits_for_somebody(self) -> bool:
        """Say whether resuming may bring it on: a conflict that may be solved by now, a branch that may move."""
        return bool(self.conflicts) or self.stopped is not None


@dataclass(slots=True)
class RunState:
    """A run and everything in it."""

    id: str = ""
    name: str = ""
    phase: RunPhase = RunPhase.ACTIVE
    settings: RunSettings = field(default_factory=RunSettings)
    source: str = ""
    cwd: str = ""
    made_by: str = ""
    strategy: str = PLAN
    options: dict[str, object] = field(default_factory=dict)
    asks: int = 0
    """How often the strategy was asked for tasks."""
    asking: bool = False
    """Whether it may want more."""
    end_reason: str = ""
    """Why the strategy wants no more, in its own words."""
    stopped: bool = False
    """Whether it might have wanted more, and is not asked: the run was cancelled, or a task failed under strict."""
    task_defaults: dict[str, object] = field(default_factory=dict)
    pause_kind: str = ""
    reason: str = ""
    number: int = 0
    """The last event's."""
    fence: int = 0
    created_at_ms: int = 0
    at_ms: int = 0
    ended_at_ms: int | None = None
    drive_at_ms: int | None = None
    """When the driver of now began; None when none drives."""
    driven_ms: int = 0
    """How long drivers that left have driven."""
    lanes: list[LaneSpec] = field(default_factory=list)
    arriving: list[TaskSpec] = field(default_factory=list)
    """Tasks of a plan whose last part has not come yet."""
    tasks: list[TaskState] = field(default_factory=list)
    by_id: dict[str, TaskState] = field(default_factory=dict)
    hard: list[list[int]] = field(default_factory=list)
    soft: list[list[int]] = field(default_factory=list)
    dependants: list[list[int]] = field(default_factory=list)
    soft_dependants: list[list[int]] = field(default_factory=list)
    open: dict[int, TaskState] = field(default_factory=dict)
    counts: dict[TaskPhase, int] = field(default_factory=lambda: dict.fromkeys(TaskPhase, 0))
    spending: Spending = field(default_factory=Spending)
    holdings: Holdings = field(default_factory=Holdings)
    queue: Queue = field(default_factory=Queue)
    touched: Touched = field(default_factory=Touched)
    externals: list[str] = field(default_factory=list)
    cancelled: bool = False
    heads: dict[str, str] = field(default_factory=dict)
    """By lane, the commit of what was last accepted in it."""
    limited: dict[str, int] = field(default_factory=dict)
    """By account, when its limit ends."""
    landing: Landing = field(default_factory=Landing)
    remarks: list[Remark] = field(default_factory=list)
    """What somebody should know of attempts, whatever became of them."""

    def task(self, task_id: TaskId) -> TaskState:
        """Find a task by its id."""
        return self.by_id[str(task_id)]

    @property
    def planned(self) -> int:
        """How many tasks the run wants."""
        return sum(self.counts.values())

    @property
    def tasks_ended(self) -> bool:
        """Whether every wanted task has ended; the strategy may want more."""
        return sum(self.counts[phase] for phase in ENDED_TASK) == self.planned and not self.arriving

    @property
    def all_ended(self) -> bool:
        """Whether every task has ended that was or will be wanted."""
        return self.tasks_ended and not self.asking

    @property
    def wants_merging(self) -> bool:
        """Whether finished lines are to be merged."""
        if self.settings.workspace is None or self.cancelled:
            return False
        return self.settings.review == "auto" or self.landing.asked is not None

    def driven_until(self, now_ms: int) -> float:
        """Return for how many seconds drivers have driven this run."""
        now = 0 if self.drive_at_ms is None else max(0, now_ms - self.drive_at_ms)
        return (self.driven_ms + now) / 1000
