"""The nouns: states, what a task wants, what a run is allowed, how an attempt ended.

Knows msgspec, because these values travel as JSON. Must not know files, clocks, processes or stores.
"""

from enum import StrEnum
from typing import Literal

from msgspec import UNSET, Raw, Struct, UnsetType

from budwood._core.scores import Score, Scoring

TaskId = str | int
"""As the plan gives it; unique in its run by its text, so that 7 and "7" are one id."""


PLAN = "plan"
"""The strategy that is given all of its tasks."""
BEST_OF = "best-of"
"""The strategy whose tasks compete whether or not they are scored."""

REVIEW_ROUNDS = 2
"""How often a reviewer sends a task back where nobody says."""


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
    """Where an attempt stands. Needs input: it runs, and waits for the answer of a person. Scoring: its candidate is
    kept, and is being scored.

    Abandoned: its supervisor was lost; its result does not count.
    """

    QUEUED = "queued"
    RUNNING = "running"
    NEEDS_INPUT = "needs_input"
    SCORING = "scoring"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"
    ABANDONED = "abandoned"


class Review(StrEnum):
    """What was decided about a candidate."""

    WAITING = "waiting"
    APPROVED = "approved"
    REJECTED = "rejected"
    MERGED = "merged"


class LanePhase(StrEnum):
    """Where a lane stands."""

    OPEN = "open"
    WAITING = "waiting"
    """All is done, and waits to be decided about or merged."""
    MERGING = "merging"
    """The merge queue is at work on it: merged with others, verified, published, or its conflict given to an agent."""
    CONFLICT = "conflict"
    """It cannot be merged, or a task could not start because what it stands on cannot be."""
    BROKEN = "broken"
    """It, or what was merged with it, did not pass verify."""
    HELD = "held"
    """A task of it failed, was skipped or cancelled."""
    MERGED = "merged"


OPEN_ATTEMPT = frozenset({AttemptPhase.QUEUED, AttemptPhase.RUNNING, AttemptPhase.NEEDS_INPUT, AttemptPhase.SCORING})
ENDED_TASK = frozenset({TaskPhase.DONE, TaskPhase.FAILED, TaskPhase.CANCELLED, TaskPhase.SKIPPED})
ENDED_RUN = frozenset({RunPhase.FINISHED, RunPhase.CANCELLED})


class Errand(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What a task does for the merge queue, which wanted it: the plan knows nothing of it."""

    kind: Literal["verify", "resolve"]
    start: str
    """The commit that it starts from."""
    line: str = ""
    """The line of history that it is to mend."""
    files: tuple[str, ...] = ()
    """Those that conflict: no mark of that may be left in them."""


class Reviewer(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """An agent that reads what another made, and accepts it or sends it back."""

    agent: str
    model: str | None = None
    prompt: str = ""
    """What it is to look at, beside the text of the task."""


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
    agent: tuple[str, ...] = ()
    """Who is asked to do what `prompt` says: the first whose account is not at its limit."""
    model: str | None = None
    check: str | None = None
    """A command that judges what an attempt made, in its workspace."""
    reviewer: str | Reviewer | None = None
    """Who may send what an agent made back to it: a command, with what it prints, or another agent."""
    max_review_rounds: int | None = None
    """How often; None is REVIEW_ROUNDS."""
    touches: tuple[str, ...] = ()
    """Paths that it will probably change; for warnings only."""
    allow_unchanged: bool = False
    """Whether an agent that changed nothing may have done its task."""
    score: Scoring | None = None
    """How what an attempt made is scored, once it is kept."""
    reads: tuple[TaskId, ...] = ()
    """Tasks whose candidates an agent is shown and does not start with; what they have come to when it starts."""
    on_conflict: Literal["fail", "first"] = "fail"
    """What happens where candidates that it starts with conflict: it fails, or the first in `after` has its way there.
    """
    helps: bool = False
    """Whether it only helps a search, as who judges does, or has ideas: what it leaves is no candidate, and no branch.
    """
    errand: Errand | None = None

    @property
    def asks(self) -> tuple[str, ...]:
        """Name every agent that an attempt may ask: for the work, and for a review of it."""
        return (*self.agent, *((self.reviewer.agent,) if isinstance(self.reviewer, Reviewer) else ()))


class LaneSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Tasks that share one line of history and never run at the same time."""

    id: TaskId
    name: str = ""
    after: tuple[TaskId, ...] = ()


class WorkspaceTerms(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Which workspaces the attempts of a run get."""

    kind: Literal["clone", "worktree", "copy"]
    base: str
    """The commit that the run starts from; it never changes."""
    word: str = "lane"
    """What branches of lanes begin with."""
    bring: tuple[str, ...] = ()
    link: tuple[str, ...] = ()
    setup: str | None = None
    setup_timeout_s: float = 1800.0
    setup_keeps: tuple[str, ...] = ()
    sparse: tuple[str, ...] = ()
    ports: int = 0
    keep: bool = False
    """Whether directories stay with what attempts left in them."""


class AgentTerms(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """An agent as a run was started with it."""

    account: str
    """What shares a limit."""
    subscription: bool = False
    """Whether what it says that it cost is a list price, not money."""
    config: dict[str, object] = {}
    """What its adapter is made with."""
    expected_usd: dict[str, float] = {}
    """By model, what an attempt will probably cost; "" is the model that the agent takes by itself."""


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
    sandbox: Literal["none", "bwrap"] = "none"
    """What attempts in workspaces are kept in."""
    network: Literal["all", "none"] | tuple[str, ...] = "all"
    """What they can reach from there: a tuple names hosts."""
    sandbox_read: tuple[str, ...] = ()
    sandbox_write: tuple[str, ...] = ()
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
    workspace: WorkspaceTerms | None = None
    """None: attempts work in the project's own directory."""
    into: str = ""
    """The branch that what was made is merged into; empty is the one that the user stands on."""
    merge: Literal["regular", "squash"] = "regular"
    merge_order: Literal["plan", "finished"] = "plan"
    verify: str | None = None
    """A command that judges what was merged, in a workspace of its own."""
    verify_timeout_s: float = 3600.0
    review: Literal["person", "auto"] = "person"
    """Whether finished lanes are merged when somebody asks, or at the end of the run."""
    resolve: tuple[str, ...] = ()
    """Agents that may try to solve a conflict before a person is asked."""
    pool: str = ""
    """Where workspaces lie; empty is the state directory of the user."""
    mcp: bool = False
    """Whether agents that can are given budwood's MCP server."""
    mcp_fan_out: int = 10
    """How many tasks the attempts at one task may create together."""
    mcp_depth: int = 2
    """How far tasks that were created by tasks may lead away from the plan."""
    agents: dict[str, AgentTerms] = {}
    prices: dict[str, dict[str, float]] = {}
    """By model, what a million tokens cost."""


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


class Usage(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """What an attempt says that it consumed; None is unknown and counts as its reservation."""

    cost_usd: float | None = None
    tokens: int | None = None
    problem: str = ""
    """What of the report could not be understood."""


class Measure(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """What was measured of an attempt while it ran."""

    wall_s: float = 0.0
    cpu_s: float = 0.0
    peak_memory_bytes: int = 0
    output_bytes: int = 0
    dropped_bytes: int = 0
    ended_processes: int = 0
    survivors: tuple[str, ...] = ()


INSIDE = "inside of submodules, which are kept and no part of its candidate"
"""What is said of `Left.inside`."""


class Left(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What an attempt left in its workspace, safe in git; nothing in here is a file."""

    base: str
    """The commit that it began with."""
    tree: str
    """The candidate: what it made, ignore rules honoured. This is its identity."""
    candidate: str
    """A commit of that tree on top of the base."""
    commit: str
    """A commit of everything that was there."""
    ref: str
    """Where that commit is found."""
    files: int = 0
    """How many the candidate has changed."""
    named: tuple[str, ...] = ()
    """The first of those, by name."""
    lines_added: int = 0
    lines_removed: int = 0
    not_kept: tuple[str, ...] = ()
    """What lies in the directory alone: too large, or without bytes of its own."""
    outside: tuple[str, ...] = ()
    """What of the user's own changed while it worked, whoever did that."""
    inside: tuple[str, ...] = ()
    """Files that differ inside of submodules: kept, and no part of the candidate."""
    since: str = ""
    """The commit that the work began with, where attempts before it had a part in that."""

    @property
    def began(self) -> str:
        """Name the commit that the whole work began with, however many attempts had a part in it."""
        return self.since or self.base


class Told(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What an agent said of itself."""

    agent: str
    outcome: str
    model: str | None = None
    turns: int | None = None
    session: str | None = None
    spent: tuple[int, int, int] = (0, 0, 0)
    """What its session has used so far: tokens read, tokens written, and those read from the provider's cache."""
    list_usd: float | None = None
    """What a subscription would have cost by the price list."""


class Reviewed(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What came of asking an agent for a review; without a verdict the work still waits for one."""

    agent: str
    outcome: str
    """As the agent told it."""
    verdict: Literal["", "accept", "send back"] = ""
    model: str | None = None
    usage: Usage = Usage()
    """Its own part of what the attempt used."""
    wall_s: float = 0.0
    list_usd: float | None = None
    """What a subscription would have cost by the price list."""


class StepEnd(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How one step of an attempt ended; without exit code and signal it was not started, or nobody saw its end."""

    name: str
    exit_code: int | None = None
    signal: int | None = None
    timed_out: bool = False
    wall_s: float = 0.0


class Outcome(Struct, frozen=True, kw_only=True, gc=False):
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
    left: Left | None = None
    told: Told | None = None
    until_ms: int | None = None
    """When the limit ends that stopped it."""
    check_said: str = ""
    """The end of what its check printed, where that refused it."""
    score: Score | None = None
    """Of what it made."""
    reviewed: Reviewed | None = None
    """What came of its review, where an agent was asked for one."""
    steps: tuple[StepEnd, ...] = ()
    """Those that were to be started, in order; a call has none."""
