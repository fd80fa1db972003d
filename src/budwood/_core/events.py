"""The facts that a run is made of: one frozen struct per kind, each with a version.

State is the fold of these, so a kind is never changed in place: a new version is added, and `UPGRADES` brings stored
bodies of the old one up to date on reading. Knows the model. Must not know how or where events are kept.
Python does not look for garbage among them (`gc=False`): there are many, and nothing in one leads back to it.
"""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal, get_args

import msgspec
from msgspec import UNSET, Struct, UnsetType, field
from msgspec import Raw as RawJson

from budwood._core.model import (
    PLAN,
    AttemptError,
    AttemptPhase,
    LaneSpec,
    Left,
    Measure,
    RunSettings,
    TaskId,
    TaskSpec,
    Told,
    Usage,
)
from budwood._core.scores import Judgement, Score
from budwood.errors import UnknownEvent


class _Fact(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    version: ClassVar[int] = 1


class RunCreated(_Fact, frozen=True, tag="run_created"):
    """The first event of every run."""

    run: str
    name: str
    settings: RunSettings
    source: str = ""
    cwd: str = ""
    made_by: str = ""
    strategy: str = PLAN
    """Who decides which tasks to add: `plan`, or a user's own class as `module:name`."""
    options: dict[str, object] = {}
    """What the strategy was made with."""
    task_defaults: dict[str, object] = {}
    """What tasks of the strategy get that they do not say themselves; a plan's tasks have it already."""


class TasksAdded(_Fact, frozen=True, tag="tasks_added"):
    """Tasks joined the graph, in task order; large plans come in several of these, `more` on all but the last.

    Number `ask` of what the strategy asked for: it is never asked for that again.
    """

    tasks: tuple[TaskSpec, ...]
    lanes: tuple[LaneSpec, ...] = ()
    more: bool = False
    ask: int = 0


class AskingEnded(_Fact, frozen=True, tag="asking_ended"):
    """The strategy is asked no more, after so many asks: it wants no more tasks.

    Or it was `stopped`, because a task failed under strict; then a retry lets it go on.
    """

    asks: int
    stopped: bool = False
    reason: str = ""
    """Why it wants no more, in its own words."""


class CandidatesJudged(_Fact, frozen=True, tag="candidates_judged"):
    """What the strategy did with candidates before answer number `ask`: all that it decided at one time."""

    ask: int
    judgements: tuple[Judgement, ...]


class WindowFull(_Fact, frozen=True, tag="window_full"):
    """Slots are free and the strategy may not be asked before this task has ended; said once in each drive."""

    ask: int
    task: TaskId


class PlanRevised(_Fact, frozen=True, tag="plan_revised"):
    """The plan was edited between two drives: what changed runs again, what was taken away is left readable."""

    added: tuple[TaskSpec, ...] = ()
    changed: tuple[TaskSpec, ...] = ()
    removed: tuple[TaskId, ...] = ()
    lanes: tuple[LaneSpec, ...] = ()


class SettingsChanged(_Fact, frozen=True, tag="settings_changed"):
    """Slots, budgets or limits are others from here on."""

    settings: RunSettings
    changed: tuple[str, ...]


class DriverStarted(_Fact, frozen=True, tag="driver_started"):
    """A driver took the lease."""

    driver: str
    fence: int


class DriverStopped(_Fact, frozen=True, tag="driver_stopped"):
    """The driver left in good order; its attempts may still run under their supervisors."""

    reason: str


class DriverSeen(_Fact, frozen=True, tag="driver_seen"):
    """The driver drives, and nothing else has happened for a while; so that a time budget outlives a killed driver."""


class RunAccounted(_Fact, frozen=True, tag="run_accounted"):
    """A new driver knows of every planned task what became of it; the numbers add up to `planned`."""

    done: int
    failed: int
    skipped: int
    cancelled: int
    adopted: int
    requeued: int
    not_started: int
    planned: int


class AttemptQueued(_Fact, frozen=True, tag="attempt_queued"):
    """It was decided to start this attempt in this slot; its budget is reserved."""

    task: TaskId
    attempt: int
    slot: int
    retry: int = 0
    gpus: tuple[str, ...] = ()
    agent: str = ""
    """Which of the task's agents is asked."""


class AttemptStarted(_Fact, frozen=True, tag="attempt_started"):
    """Its first step runs."""

    task: TaskId
    attempt: int
    pid: int
    began_at_ms: int


class AttemptScoring(_Fact, frozen=True, tag="attempt_scoring"):
    """What it made is kept, and is being scored."""

    task: TaskId
    attempt: int


class AttemptAdopted(_Fact, frozen=True, tag="attempt_adopted"):
    """A new driver found it running and took it over."""

    task: TaskId
    attempt: int


class AttemptEnded(_Fact, frozen=True, tag="attempt_ended"):
    """It is over, nothing of it is left, and this is what counts.

    `counts` is false when the attempt says nothing about the task: its supervisor was lost, or the machine failed it.
    """

    task: TaskId
    attempt: int
    phase: AttemptPhase = field(name="state")
    counts: bool = True
    exit_code: int | None = None
    signal: int | None = None
    pid: int | None = None
    began_at_ms: int | None = None
    error: AttemptError | None = None
    backoff_s: float = 0.0
    usage: Usage = Usage()
    measure: Measure = Measure()
    result: RawJson | UnsetType = UNSET
    """What a function returned."""
    left: Left | None = None
    """What it left in its workspace."""
    told: Told | None = None
    """What its agent said of itself."""
    until_ms: int | None = None
    """When the limit ends that stopped it."""
    check_said: str = ""
    """The end of what its check printed, where that refused it; the next attempt is told."""
    score: Score | None = None
    """Of what it made."""


class TasksSkipped(_Fact, frozen=True, tag="tasks_skipped"):
    """These will not run, because of that task; or, under strict, because of any failure."""

    tasks: tuple[TaskId, ...]
    because: TaskId


class TasksCancelled(_Fact, frozen=True, tag="tasks_cancelled"):
    """Somebody gave these up before they ran to an end."""

    tasks: tuple[TaskId, ...]
    whole_run: bool = False


class TasksRetried(_Fact, frozen=True, tag="tasks_retried"):
    """Somebody asked for another go: these are wanted again, with fresh retries."""

    tasks: tuple[TaskId, ...]


class TaskReviewed(_Fact, frozen=True, tag="task_reviewed"):
    """A person, or a rule, decided about what an attempt left: it is approved, rejected, or merged somewhere."""

    task: TaskId
    attempt: int
    decision: Literal["approved", "rejected", "merged"]
    text: str = ""
    """Why, or into what it was merged."""


class TaskRevised(_Fact, frozen=True, tag="task_revised"):
    """Somebody wants more of what an attempt left: the task is wanted again, on top of that, with this said."""

    task: TaskId
    attempt: int
    text: str


class MergeAsked(_Fact, frozen=True, tag="merge_asked"):
    """Somebody wants finished lanes merged, and maybe a branch of theirs moved there."""

    into: str = ""
    squash: bool = False
    partial: bool = False
    """Lanes with tasks that did not succeed, too: what was accepted in them."""
    resolve: tuple[str, ...] = ()
    """Agents that may try to solve conflicts."""


class Joint(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A commit of the merge queue: it holds these lines of history and those before it."""

    lines: tuple[str, ...]
    commit: str
    shadow: str = ""
    """The same files, with the history of everything merged; for squashed commits, which have none."""


class Clash(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A line of history that could not be merged as it stood."""

    line: str
    head: str
    onto: str
    """The commit that it conflicts with: all others, merged."""
    files: tuple[str, ...] = ()


class LanesJoined(_Fact, frozen=True, tag="lanes_joined"):
    """Lines of history were merged, in no branch yet: a line is `lane ID`, or `task ID` for a task without a lane."""

    lines: tuple[tuple[str, str], ...]
    """What was to be merged, in this order: each line and the commit that it had come to."""
    onto: str
    joints: tuple[Joint, ...] = ()
    clashes: tuple[Clash, ...] = ()
    target: str = ""
    """Where the branch of the user's stood that is to move."""

    @property
    def commit(self) -> str:
        """The last one: everything that could be merged."""
        return self.joints[-1].commit if self.joints else self.onto


class ErrandAdded(_Fact, frozen=True, tag="errand_added"):
    """The merge queue wants something done: what was merged verified, or a conflict solved by an agent."""

    task: TaskSpec


class LanesMerged(_Fact, frozen=True, tag="lanes_merged"):
    """Lines of history are in a branch: the run's own, and the user's if they asked for that."""

    lines: tuple[tuple[str, str], ...]
    commit: str
    branch: str
    into: str = ""
    tasks: tuple[TaskId, ...] = ()
    """Whose candidates are in it now."""


class TargetMoved(_Fact, frozen=True, tag="target_moved"):
    """The user's branch has moved since lanes were merged with it: they are merged again, and verified again."""

    branch: str
    commit: str


class MergeStopped(_Fact, frozen=True, tag="merge_stopped"):
    """What was merged is in the run's own branch, and the user's stays as it is until they do something."""

    into: str
    reason: str
    hint: str = ""


class LaneHeld(_Fact, frozen=True, tag="lane_held"):
    """A finished line of history is not merged: with it, what was merged does not pass."""

    line: str
    head: str
    reason: str
    task: TaskId | None = None
    """The one that verified."""


class LaneConflicted(_Fact, frozen=True, tag="lane_conflicted"):
    """A line of history cannot be merged until somebody has solved its conflicts, in the directory named."""

    line: str
    head: str
    onto: str
    branch: str
    path: str
    files: tuple[str, ...]
    reason: str = ""
    """Why what was found there does not solve it."""


class LaneResolved(_Fact, frozen=True, tag="lane_resolved"):
    """The conflicts of a line of history were solved: it stands at this commit now."""

    line: str
    commit: str
    by: Literal["person", "rerere"]


class TaskCreated(_Fact, frozen=True, tag="task_created"):
    """A task joined while the run went on: an attempt at `parent` asked for it, or, without one, a person did."""

    task: TaskSpec
    parent: TaskId | None = None


class TaskUpdated(_Fact, frozen=True, tag="task_updated"):
    """A task that was created while the run went on is wanted otherwise; no attempt at it had begun."""

    task: TaskSpec


class QuestionAsked(_Fact, frozen=True, tag="question_asked"):
    """An attempt asks a person, and needs the answer; questions of one attempt are numbered from 1."""

    task: TaskId
    attempt: int
    question: int
    text: str


class QuestionAnswered(_Fact, frozen=True, tag="question_answered"):
    """A person answered what an attempt had asked."""

    task: TaskId
    attempt: int
    question: int
    text: str


class ProgressReported(_Fact, frozen=True, tag="progress_reported"):
    """An attempt says how far it has come; nothing is decided by that."""

    task: TaskId
    attempt: int
    text: str
    percent: float | None = None


class RunPaused(_Fact, frozen=True, tag="run_paused"):
    """Nothing new starts. `kind` decides the exit code.

    It is one of budget, breaker, disk, limits, login, person, quota, slots, step, strategy, workspace.
    """

    kind: str
    reason: str


class RunWaiting(_Fact, frozen=True, tag="run_waiting"):
    """Nothing runs and nothing can start before a stated time."""

    reason: str
    until_ms: int


class RunResumed(_Fact, frozen=True, tag="run_resumed"):
    """Things may start again."""


class RunEnded(_Fact, frozen=True, tag="run_ended"):
    """Every task has ended, or the run was given up."""

    cancelled: bool = False


class External(_Fact, frozen=True, tag="external"):
    """Something that decided and is not a function of inputs and seed: time-outs, memory kills, budgets, people."""

    cause: str
    detail: str = ""
    task: TaskId | None = None
    attempt: int | None = None


class RequestTaken(_Fact, frozen=True, tag="request_taken"):
    """The driver did what somebody asked."""

    request: int
    kind: str
    detail: str = ""


class RequestRefused(_Fact, frozen=True, tag="request_refused"):
    """The driver could not do what somebody asked."""

    request: int
    kind: str
    reason: str


Event = (
    RunCreated
    | TasksAdded
    | AskingEnded
    | CandidatesJudged
    | WindowFull
    | PlanRevised
    | SettingsChanged
    | DriverStarted
    | DriverStopped
    | DriverSeen
    | RunAccounted
    | AttemptQueued
    | AttemptStarted
    | AttemptScoring
    | AttemptAdopted
    | AttemptEnded
    | TasksSkipped
    | TasksCancelled
    | TasksRetried
    | TaskReviewed
    | TaskRevised
    | MergeAsked
    | LanesJoined
    | ErrandAdded
    | LanesMerged
    | TargetMoved
    | MergeStopped
    | LaneHeld
    | LaneConflicted
    | LaneResolved
    | TaskCreated
    | TaskUpdated
    | QuestionAsked
    | QuestionAnswered
    | ProgressReported
    | RunPaused
    | RunWaiting
    | RunResumed
    | RunEnded
    | External
    | RequestTaken
    | RequestRefused
)

KINDS: dict[str, type[Event]] = {str(kind.__struct_config__.tag): kind for kind in get_args(Event)}
_NAMES: dict[type[Event], str] = {kind: name for name, kind in KINDS.items()}

Upgrade = Callable[[dict[str, Any]], dict[str, Any]]
UPGRADES: Mapping[tuple[str, int], Upgrade] = {}
"""(kind, old version) -> the function that makes its body one of the next version."""

_ENCODER = msgspec.json.Encoder()
_DECODER: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)


class Recorded(Struct, frozen=True, gc=False):
    """An event with its place: numbers are dense per run and start at 1."""

    number: int
    at_ms: int
    event: Event


class Raw(Struct, frozen=True, gc=False):
    """An event as a store keeps it."""

    number: int
    at_ms: int
    kind: str
    version: int
    body: bytes


def kind_of(event: Event) -> str:
    """Name the event's kind, as it stands in JSON."""
    return _NAMES[type(event)]


def encode(recorded: Recorded) -> Raw:
    """Turn an event into what a store keeps."""
    event = recorded.event
    return Raw(recorded.number, recorded.at_ms, kind_of(event), event.version, _ENCODER.encode(event))


def encode_body(event: Event) -> tuple[str, int, str]:
    """Give the kind, version and body of what a store keeps, for one that keeps bodies as text."""
    return _NAMES[type(event)], event.version, _ENCODER.encode(event).decode()


def decode(raw: Raw, *, upgrades: Mapping[tuple[str, int], Upgrade] = UPGRADES) -> Recorded:
    """Read an event back, bringing an old version up to date; one that is unknown is named, never guessed."""
    known = KINDS.get(raw.kind)
    if known is None:
        raise UnknownEvent(
            f"event {raw.number} is of kind {raw.kind!r}, which this version does not know",
            hint="use the budwood that wrote it, or a newer one",
        )
    try:
        body = raw.body if raw.version == known.version else _upgraded(raw, known.version, upgrades)
        return Recorded(raw.number, raw.at_ms, _DECODER.decode(body))
    except msgspec.MsgspecError as error:
        raise UnknownEvent(f"event {raw.number} ({raw.kind}) cannot be read: {error}") from error


def _upgraded(raw: Raw, wanted: int, upgrades: Mapping[tuple[str, int], Upgrade]) -> bytes:
    body: dict[str, Any] = msgspec.json.decode(raw.body)
    for version in range(raw.version, wanted):
        step = upgrades.get((raw.kind, version))
        if step is None:
            break
        body = step(body)
    else:
        if raw.version < wanted:
            return _ENCODER.encode(body)
    raise UnknownEvent(
        f"event {raw.number} ({raw.kind}) has version {raw.version}; this budwood knows version {wanted}",
        hint="use the budwood that wrote it, or a newer one",
    )


def about(event: Event) -> tuple[TaskId, ...]:
    """List the tasks that an event is about; a story is what is left when one id is picked."""
    match event:
        case TasksAdded(tasks=tasks):
            return tuple(task.id for task in tasks)
        case PlanRevised(added=added, changed=changed, removed=removed):
            return (*(task.id for task in added), *(task.id for task in changed), *removed)
        case TasksSkipped(tasks=ids, because=because):
            return (*ids, because)
        case TasksCancelled(tasks=ids) | TasksRetried(tasks=ids) | LanesMerged(tasks=ids):
            return ids
        case CandidatesJudged(judgements=judgements):
            return tuple(each.task for each in judgements)
        case ErrandAdded(task=spec) | TaskCreated(task=spec) | TaskUpdated(task=spec):
            return (spec.id,)
        case (
            AttemptQueued(task=task)
            | AttemptStarted(task=task)
            | AttemptScoring(task=task)
            | AttemptAdopted(task=task)
            | AttemptEnded(task=task)
            | External(task=task)
            | TaskReviewed(task=task)
            | TaskRevised(task=task)
            | QuestionAsked(task=task)
            | QuestionAnswered(task=task)
            | ProgressReported(task=task)
            | WindowFull(task=task)
            | LaneHeld(task=task)
        ):
            return () if task is None else (task,)
        case _:
            return ()


def as_json(recorded: Recorded) -> dict[str, Any]:
    """Give the event the one public shape that streams, callbacks and exports share."""
    body: dict[str, Any] = msgspec.json.decode(_ENCODER.encode(recorded.event))
    kind = body.pop("type")
    return {
        "number": recorded.number,
        "at_ms": recorded.at_ms,
        "event": kind,
        "version": recorded.event.version,
        **body,
    }
