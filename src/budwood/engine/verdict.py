"""What a drive came to, in words, counts and an exit code.

Knows the state only.
"""

from collections.abc import Iterable
from enum import IntEnum

from msgspec import Struct

from budwood._core.choice import goal_is_met
from budwood._core.model import ENDED_RUN, RunPhase, TaskId, TaskPhase
from budwood._core.state import RunState


class Exit(IntEnum):
    """Exit codes of commands that drive a run; the reference lists all."""

    GOAL_MET = 0
    NOT_MET = 1
    BUDGET = 3
    WAITS = 4
    CONFLICT = 5
    INTERRUPTED = 130


class Verdict(Struct, frozen=True, kw_only=True):
    """Where a run stands when a driver leaves it."""

    run: str
    name: str
    phase: RunPhase
    exit_code: int
    reason: str
    counts: dict[str, int]
    tasks: int
    attempts: int
    cost_usd: float
    guessed_usd: float
    """The part of that which no attempt has said."""
    untold: int
    """Attempts, and reviews of them, that did not say what they cost."""
    tokens: int
    driven_s: float
    failed: tuple[TaskId, ...]
    skipped: tuple[TaskId, ...]
    running: tuple[TaskId, ...]
    """Tasks whose commands go on without a driver."""
    calls: tuple[TaskId, ...]
    """Tasks whose calls ended with their driver, and are made again by the next."""
    externals: dict[str, int]


def reach_verdict(state: RunState, *, interrupted: bool = False) -> Verdict:
    """Sum a run up."""
    active = [task.spec for task in state.tasks if task.phase is TaskPhase.ACTIVE and not task.removed]
    counts = {phase.value: number for phase, number in state.counts.items()}
    return Verdict(
        run=state.id,
        name=state.name,
        phase=state.phase,
        exit_code=_exit_code(state, interrupted=interrupted),
        reason=state.reason,
        counts=counts,
        tasks=state.planned,
        attempts=state.spending.attempts,
        cost_usd=round(state.spending.cost_usd, 6),
        guessed_usd=round(state.spending.guessed_usd, 6),
        untold=state.spending.untold,
        tokens=state.spending.tokens,
        driven_s=round(state.driven_until(state.at_ms), 3),
        failed=_ids(state, TaskPhase.FAILED),
        skipped=_ids(state, TaskPhase.SKIPPED),
        running=tuple(spec.id for spec in active if spec.function is None),
        calls=tuple(spec.id for spec in active if spec.function is not None),
        externals=_tally(state.externals),
    )


def _exit_code(state: RunState, *, interrupted: bool) -> Exit:
    if interrupted and state.phase not in ENDED_RUN:
        return Exit.INTERRUPTED
    if state.phase is RunPhase.FINISHED:
        return _how_it_finished(state)
    if state.phase is RunPhase.CANCELLED:
        return Exit.NOT_MET
    return Exit.BUDGET if state.pause_kind == "budget" else Exit.WAITS


def _how_it_finished(state: RunState) -> Exit:
    if state.landing.conflicts:
        return Exit.CONFLICT
    if state.landing.held or not goal_is_met(state):
        return Exit.NOT_MET
    return Exit.GOAL_MET if state.landing.stopped is None else Exit.WAITS


def _ids(state: RunState, phase: TaskPhase) -> tuple[TaskId, ...]:
    return tuple(task.spec.id for task in state.tasks if task.phase is phase and not task.removed)


def _tally(causes: Iterable[str]) -> dict[str, int]:
    tally: dict[str, int] = {}
    for cause in causes:
        tally[cause] = tally.get(cause, 0) + 1
    return tally
