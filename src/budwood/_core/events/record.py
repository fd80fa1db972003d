"""Events with their places, as they are kept, read back and shown.

Knows every kind. Must not know where events are kept.
"""

from collections.abc import Callable, Mapping
from typing import Any, get_args

import msgspec
from msgspec import Struct

from budwood._core.events.attempts import (
    AttemptAdopted,
    AttemptEnded,
    AttemptQueued,
    AttemptScoring,
    AttemptStarted,
    ProgressReported,
    QuestionAnswered,
    QuestionAsked,
)
from budwood._core.events.driving import (
    DriverSeen,
    DriverStarted,
    DriverStopped,
    External,
    RequestRefused,
    RequestTaken,
    RunAccounted,
    RunEnded,
    RunPaused,
    RunResumed,
    RunWaiting,
)
from budwood._core.events.merging import (
    ErrandAdded,
    LaneConflicted,
    LaneHeld,
    LaneResolved,
    LanesJoined,
    LanesMerged,
    MergeAsked,
    MergeStopped,
    TargetMoved,
)
from budwood._core.events.plan import (
    AskingEnded,
    CandidatesJudged,
    PlanRevised,
    RunCreated,
    SettingsChanged,
    TaskCreated,
    TasksAdded,
    TaskUpdated,
    WindowFull,
)
from budwood._core.events.tasks import (
    TaskReviewed,
    TaskRevised,
    TasksCancelled,
    TasksRetried,
    TasksSkipped,
)
from budwood._core.model import TaskId
from budwood.errors import UnknownEvent

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
