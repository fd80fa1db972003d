"""What attempts do: they begin, say something, ask, and end."""

from msgspec import UNSET, UnsetType, field
from msgspec import Raw as RawJson

from budwood._core.events.fact import Fact
from budwood._core.model import AttemptError, AttemptPhase, Left, Measure, Reviewed, TaskId, Told, Usage
from budwood._core.scores import Score


class AttemptQueued(Fact, frozen=True, tag="attempt_queued"):
    """It was decided to start this attempt in this slot; its budget is reserved."""

    task: TaskId
    attempt: int
    slot: int
    retry: int = 0
    gpus: tuple[str, ...] = ()
    agent: str = ""
    """Which of the task's agents is asked."""


class AttemptStarted(Fact, frozen=True, tag="attempt_started"):
    """Its first step runs."""

    task: TaskId
    attempt: int
    pid: int
    began_at_ms: int


class AttemptScoring(Fact, frozen=True, tag="attempt_scoring"):
    """What it made is kept, and is being scored."""

    task: TaskId
    attempt: int


class AttemptAdopted(Fact, frozen=True, tag="attempt_adopted"):
    """A new driver found it running and took it over."""

    task: TaskId
    attempt: int


class AttemptEnded(Fact, frozen=True, tag="attempt_ended"):
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
    reviewed: Reviewed | None = None
    """What came of its review, where an agent was asked for one."""


class QuestionAsked(Fact, frozen=True, tag="question_asked"):
    """An attempt asks a person, and needs the answer; questions of one attempt are numbered from 1."""

    task: TaskId
    attempt: int
    question: int
    text: str


class QuestionAnswered(Fact, frozen=True, tag="question_answered"):
    """A person answered what an attempt had asked."""

    task: TaskId
    attempt: int
    question: int
    text: str


class ProgressReported(Fact, frozen=True, tag="progress_reported"):
    """An attempt says how far it has come; nothing is decided by that."""

    task: TaskId
    attempt: int
    text: str
    percent: float | None = None
