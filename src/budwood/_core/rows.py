"""What lists and SQL users see: one row per run, task, attempt and dependency.

Rows are projections of the state, written in the same transaction as the events that changed them; refolding the
events gives them again. Knows the model. Must not know how a store lays them out.
"""

from msgspec import Struct, field

from budwood._core.model import AttemptError, AttemptPhase, RunPhase, TaskId, TaskPhase


class RunRow(Struct, frozen=True, kw_only=True):
    """A run at a glance."""

    id: str
    name: str
    phase: RunPhase = field(name="state")
    goal: str = ""
    reason: str = ""
    source: str = ""
    cwd: str = ""
    made_by: str = ""
    seed: int = 0
    slots: int = 0
    created_at_ms: int = 0
    updated_at_ms: int = 0
    ended_at_ms: int | None = None
    last_event: int = 0
    fence: int = 0
    tasks: int = 0
    done: int = 0
    failed: int = 0
    skipped: int = 0
    cancelled: int = 0
    active: int = 0
    attempts: int = 0
    cost_usd: float = 0.0
    tokens: int = 0


class TaskRow(Struct, frozen=True, kw_only=True, gc=False):
    """A task at a glance; `number` is its place in task order, from 0."""

    number: int
    id: TaskId
    key: str
    phase: TaskPhase = field(name="state")
    description: str = ""
    command: str = ""
    batch: int = 1
    """Which of the graph's batches it is in, from 1: everything that it needs is in earlier ones; 0 for none."""
    lane: TaskId | None = None
    group: str | None = None
    priority: int = 0
    attempts: int = 0
    tries: int = 0
    cost_usd: float = 0.0
    because: TaskId | None = None
    removed: bool = False
    score: float | None = None
    """The primary metric of what it made; None if that was not scored, or is no number."""
    valid: bool | None = None
    """Whether that score counts; None if there is none."""
    gain: float | None = None
    """How much better that is than what the search began with, relative to it: more is better in any direction."""


class AttemptRow(Struct, frozen=True, kw_only=True, gc=False):
    """An attempt at a glance."""

    task: int
    number: int
    phase: AttemptPhase = field(name="state")
    key: str
    retry: int
    slot: int
    queued_at_ms: int
    started_at_ms: int | None = None
    finished_at_ms: int | None = None
    pid: int | None = None
    exit_code: int | None = None
    signal: int | None = None
    wall_s: float | None = None
    cpu_s: float | None = None
    peak_memory_bytes: int | None = None
    output_bytes: int | None = None
    dropped_bytes: int | None = None
    cost_usd: float | None = None
    tokens: int | None = None
    error: AttemptError | None = None
    end_event: int | None = None
    """The number of the event that ended it, where a function's result is."""
    score: float | None = None
    valid: bool | None = None


class DependencyRow(Struct, frozen=True, kw_only=True, gc=False):
    """Task `task` comes after task `needs`; both are numbers."""

    task: int
    needs: int
    hard: bool = True


class Rows(Struct, frozen=True, kw_only=True):
    """Everything about one run that a commit changed, or, refolded, everything about it."""

    run: RunRow
    tasks: tuple[TaskRow, ...] = ()
    attempts: tuple[AttemptRow, ...] = ()
    dependencies: tuple[DependencyRow, ...] = ()
    gone_dependencies: tuple[int, ...] = ()
    """Tasks whose dependencies are replaced by those listed."""
