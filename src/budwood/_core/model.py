"""The nouns: states, what a task wants, what a run is allowed, how an attempt ended.

Knows msgspec, because these values travel as JSON. Must not know files, clocks, processes or stores.
"""

from enum import StrEnum
from typing import Literal

from msgspec import UNSET, Raw, Struct, UnsetType

TaskId = str | int
"""As the plan gives it; unique in its run by its text, so that 7 and "7" are one id."""


PLAN = "plan"
"""The strategy that is given all of its tasks."""


class RunPhase(StrEnum):
    """Where a run stands."""

    ACTIVE = "active"
    PAUSED = "paused"
    WAITING = "waiting"
    FINISHED = "finished"
    CANCELLED = "cancelled"


class TaskPhase(StrEnum):
    """Where a task stands."""

    BLOCKED = "blocked"
    READY = "ready"
    ACTIVE = "active"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    SKIPPED = "skipped"


class AttemptPhase(StrEnum):
    """Where an attempt stands. Abandoned: its supervisor was lost; its result does not count."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"
    ABANDONED = "abandoned"


OPEN_ATTEMPT = frozenset({AttemptPhase.QUEUED, AttemptPhase.RUNNING})
ENDED_TASK = frozenset({TaskPhase.DONE, TaskPhase.FAILED, TaskPhase.CANCELLED, TaskPhase.SKIPPED})
ENDED_RUN = frozenset({RunPhase.FINISHED, RunPhase.CANCELLED})


class TaskSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, gc=False):
    """A piece of wanted work, with every default filled in."""

    id: TaskId
    run: str | tuple[str, ...] | None = None
    function: str | None = None
    """`module:name`, instead of a command; called with `args` and `kwargs`, which are JSON."""
    args: tuple[object, ...] = ()
    kwargs: dict[str, object] = {}
    description: str = ""
    prompt: str = ""
    after: tuple[TaskId, ...] = ()
    prefer_after: tuple[TaskId, ...] = ()
    priority: int = 0
    timeout_s: float | None = None
    retries: int = 0
    env: dict[str, str] = {}
    env_pass: tuple[str, ...] = ()
    lane: TaskId | None = None
    group: str | None = None
    cpus: float = 0.0
    gpus: int = 0
    memory_bytes: int | None = None
    reserve_usd: float = 0.0
    reserve_tokens: int = 0


class LaneSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Tasks that share one line of history and never run at the same time."""

    id: TaskId
    name: str = ""
    after: tuple[TaskId, ...] = ()


class RunSettings(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What a run is allowed and how its attempts are held; may change on resume, except for the seed."""

    goal: str = ""
    seed: int = 0
    slots: int = 1
    strict: bool = False
    budget_usd: float | None = None
    budget_tokens: int | None = None
    budget_time_s: float | None = None
    max_attempts: int | None = None
    backoff_s: float = 1.0
    breaker: int = 5
    cpus: float = 1.0
    gpus: tuple[str, ...] = ()
    groups: dict[str, int] = {}
    machine_slots: int | None = None
    contain: Literal["tree", "namespace"] = "tree"
    grace_s: float = 5.0
    output_bytes: int = 4 * 1024 * 1024
    notify: str | None = None
    python: str = ""
    """The interpreter that function tasks run in; empty where a run has none."""
    worker_memory_bytes: int = 1024**3
    """A worker that has grown past this is replaced between two calls."""
    window: int | None = None
    """Ask number k of the strategy sees the results of asks 0 to k - window; None where it has nothing to wait for."""
    order: Literal["task", "completion"] = "task"
    max_tasks: int = 100_000
    """A strategy that has asked for so many is not asked again."""


class AttemptError(Struct, frozen=True, kw_only=True):
    """Why an attempt did not succeed, and what happens next."""

    type: str
    message: str
    attempt: int
    max_retries: int
    will_retry: bool
    timed_out: bool = False
    traceback: str | UnsetType = UNSET
    """Of a function that raised."""


class Usage(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What an attempt says that it consumed; None is unknown and counts as its reservation."""

    cost_usd: float | None = None
    tokens: int | None = None
    problem: str = ""
    """What of the report could not be understood."""


class Measure(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was measured of an attempt while it ran."""

    wall_s: float = 0.0
    cpu_s: float = 0.0
    peak_memory_bytes: int = 0
    output_bytes: int = 0
    dropped_bytes: int = 0
    ended_processes: int = 0
    survivors: tuple[str, ...] = ()


class StepEnd(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How one step of an attempt ended; without exit code and signal it was not started, or nobody saw its end."""

    name: str
    exit_code: int | None = None
    signal: int | None = None
    timed_out: bool = False
    wall_s: float = 0.0


class Outcome(Struct, frozen=True, kw_only=True):
    """How an attempt ended, as the executor saw it; not yet judged."""

    phase: AttemptPhase
    exit_code: int | None = None
    signal: int | None = None
    error_type: str | None = None
    message: str = ""
    traceback: str | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    """What a function returned, as JSON."""
    began_at_ms: int | None = None
    pid: int | None = None
    usage: Usage = Usage()
    measure: Measure = Measure()
    steps: tuple[StepEnd, ...] = ()
    """Those that were to be started, in order; a call has none."""
