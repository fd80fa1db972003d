"""A supervisor's result, read as an outcome.

Knows the protocol's `result` object (docs/reference/supervisor-protocol.md). Must not judge: that is `_core.judge`.
"""

import signal
from typing import Literal

import msgspec
from msgspec import Struct

from budwood._core.model import AttemptPhase, Measure, Outcome, StepEnd, Usage


class StepError(Struct, frozen=True):
    """Why a step could not be started."""

    kind: str
    message: str


class StepResult(Struct, frozen=True):
    """How one step ended."""

    name: str
    exit_code: int | None = None
    signal: int | None = None
    wall_s: float = 0.0
    cpu_s: float = 0.0
    timed_out: bool = False
    error: StepError | None = None


class Survivor(Struct, frozen=True):
    """A process that could not be killed."""

    pid: int
    command: str


class Result(Struct, frozen=True):
    """The content of `result.json`."""

    attempt: str
    fence: int
    outcome: Literal["ok", "failed", "timed_out", "cancelled", "memory", "spawn", "fault"]
    steps: tuple[StepResult, ...]
    began_at_ms: int
    ended_at_ms: int
    wall_s: float
    cpu_s: float
    peak_memory_bytes: int
    output_bytes: int
    dropped_bytes: int
    ended_processes: int
    survivors: tuple[Survivor, ...] = ()
    usage: str | None = None
    fault: StepError | None = None
    retired: bool = False

    @property
    def retirement(self) -> str:
        """Say why its slot takes no more work."""
        left = ", ".join(f"{survivor.pid} ({survivor.command})" for survivor in self.survivors)
        return f"processes that cannot be killed: {left}"


_PHASES = {
    "ok": AttemptPhase.SUCCEEDED,
    "timed_out": AttemptPhase.TIMED_OUT,
    "cancelled": AttemptPhase.CANCELLED,
}
_SHELL_ERRORS = {126: "denied", 127: "not_found"}


def read_outcome(result: Result) -> Outcome:
    """Translate a result; nothing in it is lost but what only the supervisor needs."""
    last = result.steps[-1] if result.steps else None
    error_type, message = _error(result, last)
    return Outcome(
        phase=_PHASES.get(result.outcome, AttemptPhase.FAILED),
        exit_code=last.exit_code if last else None,
        signal=last.signal if last else None,
        error_type=error_type,
        message=message,
        began_at_ms=result.began_at_ms,
        usage=read_usage(result.usage),
        measure=Measure(
            wall_s=result.wall_s,
            cpu_s=result.cpu_s,
            peak_memory_bytes=result.peak_memory_bytes,
            output_bytes=result.output_bytes,
            dropped_bytes=result.dropped_bytes,
            ended_processes=result.ended_processes,
            survivors=tuple(f"{survivor.pid} {survivor.command}" for survivor in result.survivors),
        ),
        steps=tuple(_step_end(step) for step in result.steps),
    )


def _step_end(step: StepResult) -> StepEnd:
    return StepEnd(
        name=step.name,
        exit_code=step.exit_code,
        signal=step.signal,
        timed_out=step.timed_out,
        wall_s=step.wall_s,
    )


NO_ROOM = Outcome(
    phase=AttemptPhase.FAILED,
    error_type="disk_full",
    message="it was not begun: the disk has no room for what its supervisor writes",
    usage=Usage(cost_usd=0.0, tokens=0),
)
"""An attempt that the machine could not begin; it has cost nothing."""
LOST = "it left no result: its supervisor was killed, or could not write"
LOST_CALL = "its driver ended before it did, and it with its driver"


def lost_outcome(left_running: str, *, usage: str | None, why: str = LOST) -> Outcome:
    """Say that an attempt left no result; what it said of its cost counts all the same."""
    return Outcome(
        phase=AttemptPhase.ABANDONED, error_type="abandoned", message=why + left_running, usage=read_usage(usage)
    )


def read_usage(text: str | None) -> Usage:
    """Read what an attempt says that it consumed, field by field; what cannot be read is unknown, and said so."""
    if not text:  # none was written; a sandbox has the empty file there already
        return Usage()
    try:
        report = msgspec.json.decode(text)
    except msgspec.MsgspecError as error:
        return Usage(problem=f"its usage report is not JSON: {error}")
    if not isinstance(report, dict):
        return Usage(problem="its usage report is no JSON object")
    cost, tokens = report.pop("cost_usd", None), report.pop("tokens", None)
    problems = [f"unknown field {name!r}" for name in report]
    if not _is_amount(cost, (int, float)):
        problems.append(f"cost_usd is {cost!r}, not a number of at least 0")
        cost = None
    if not _is_amount(tokens, (int,)):
        problems.append(f"tokens is {tokens!r}, not a whole number of at least 0")
        tokens = None
    problem = f"its usage report: {'; '.join(problems)}" if problems else ""
    return Usage(cost_usd=None if cost is None else float(cost), tokens=tokens, problem=problem)


def _is_amount(value: object, kinds: tuple[type, ...]) -> bool:
    if value is None:
        return True
    return isinstance(value, kinds) and not isinstance(value, bool) and 0 <= float(str(value)) < float("inf")


def _error(result: Result, last: StepResult | None) -> tuple[str | None, str]:
    match result.outcome:
        case "ok":
            return None, ""
        case "timed_out":
            return "timeout", f"stopped at its time limit after {result.wall_s:.1f} s"
        case "cancelled":
            return "cancelled", "cancelled"
        case "memory":
            return "memory", f"stopped above its memory limit, at {result.peak_memory_bytes / 2**20:.0f} MiB"
        case "fault" if result.fault is not None:
            return result.fault.kind, result.fault.message
        case "spawn" if last is not None and last.error is not None:
            return last.error.kind if last.error.kind != "other" else "spawn", last.error.message
        case _:
            return _exit_error(last)


def _exit_error(last: StepResult | None) -> tuple[str, str]:
    if last is None:
        return "spawn", "no step was started"
    if last.signal is not None:
        return "signal", f"ended by signal {_signal_name(last.signal)}"
    kind = _SHELL_ERRORS.get(last.exit_code or 0, "exit")
    return kind, f"exit code {last.exit_code}" + ("" if kind == "exit" else " (the shell could not run it)")


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)
