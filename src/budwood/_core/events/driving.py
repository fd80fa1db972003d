"""Who drives a run, whether it goes on, and what people asked of it."""

from budwood._core.events.fact import Fact
from budwood._core.model import TaskId


class DriverStarted(Fact, frozen=True, tag="driver_started"):
    """A driver took the lease."""

    driver: str
    fence: int


class DriverStopped(Fact, frozen=True, tag="driver_stopped"):
    """The driver left in good order; its attempts may still run under their supervisors."""

    reason: str


class DriverSeen(Fact, frozen=True, tag="driver_seen"):
    """The driver drives, and nothing else has happened for a while; so that a time budget outlives a killed driver."""


class RunAccounted(Fact, frozen=True, tag="run_accounted"):
    """A new driver knows of every planned task what became of it; the numbers add up to `planned`."""

    done: int
    failed: int
    skipped: int
    cancelled: int
    adopted: int
    requeued: int
    not_started: int
    planned: int


class RunPaused(Fact, frozen=True, tag="run_paused"):
    """Nothing new starts. `kind` decides the exit code.

    It is one of budget, breaker, disk, limits, login, person, quota, slots, step, strategy, workspace.
    """

    kind: str
    reason: str


class RunWaiting(Fact, frozen=True, tag="run_waiting"):
    """Nothing runs and nothing can start before a stated time."""

    reason: str
    until_ms: int


class RunResumed(Fact, frozen=True, tag="run_resumed"):
    """Things may start again."""


class RunEnded(Fact, frozen=True, tag="run_ended"):
    """Every task has ended, or the run was given up."""

    cancelled: bool = False


class External(Fact, frozen=True, tag="external"):
    """Something that decided and is not a function of inputs and seed: time-outs, memory kills, budgets, people."""

    cause: str
    detail: str = ""
    task: TaskId | None = None
    attempt: int | None = None


class RequestTaken(Fact, frozen=True, tag="request_taken"):
    """The driver did what somebody asked."""

    request: int
    kind: str
    detail: str = ""


class RequestRefused(Fact, frozen=True, tag="request_refused"):
    """The driver could not do what somebody asked."""

    request: int
    kind: str
    reason: str
