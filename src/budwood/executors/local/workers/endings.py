"""How a call ended, from what its worker told or, where that died, from what the supervisor tells of it.

Knows outcomes; must not know sockets or slots.
"""

import signal
from pathlib import Path

import msgspec
from msgspec import UNSET

from budwood._core.masking import mask_bytes, mask_text
from budwood._core.model import AttemptPhase, Measure, Outcome
from budwood.executors.local.leftovers import STORED_LOG_BYTES, read_ends
from budwood.executors.local.outcome import Result, read_outcome, read_usage
from budwood.executors.local.workers.identity import CALL_LOG, Identity
from budwood.executors.local.workers.wire import Told

_OURS = (signal.SIGTERM, signal.SIGKILL)
_LIMITS = ("memory", "fault", "spawn", "cancelled")
"""Ends whose own words say enough."""


def answered(told: Told, *, pid: int, began_at_ms: int) -> Outcome:
    """Say how a call ended that its worker has answered."""
    error = told.error
    return Outcome(
        phase=AttemptPhase.SUCCEEDED if error is None else AttemptPhase.FAILED,
        error_type=None if error is None else error.type,
        message="" if error is None else error.message,
        traceback=UNSET if error is None or not error.traceback else error.traceback,
        # A copy: what was decoded holds on to all that came with it.
        result=told.result.copy() if error is None else UNSET,
        began_at_ms=began_at_ms,
        pid=pid,
        usage=read_usage(told.usage),
        measure=Measure(
            wall_s=told.wall_s,
            cpu_s=told.cpu_s,
            peak_memory_bytes=told.peak_memory_bytes,
            output_bytes=told.output_bytes,
            dropped_bytes=told.dropped_bytes,
        ),
    )


def cleared(outcome: Outcome, result: Result) -> Outcome:
    """Add to an answer what the supervisor had to do with the processes that the call left."""
    ended = read_outcome(result).measure
    measure = msgspec.structs.replace(outcome.measure, ended_processes=ended.ended_processes, survivors=ended.survivors)
    return msgspec.structs.replace(outcome, measure=measure)


def died(result: Result, *, limit_s: float | None, hung_up: bool) -> Outcome:
    """Say how a call ended whose worker ended in it, or hung up and had to be ended."""
    if hung_up and result.outcome == "cancelled":  # by us; but it may have ended before that
        result = msgspec.structs.replace(result, outcome="failed")
        last = result.steps[-1]
        hung_up = last.signal in _OURS or last.exit_code == 0  # one whose driver hung up leaves by itself
    outcome = read_outcome(result)
    phase, kind, message = outcome.phase, outcome.error_type, outcome.message
    if result.outcome == "timed_out":
        message = f"stopped at its time limit of {limit_s:g} s"
    elif hung_up:
        phase, kind, message = AttemptPhase.FAILED, "exit", "the worker no longer answered in this call and was ended"
    elif result.outcome not in _LIMITS:
        phase, kind = AttemptPhase.FAILED, kind or "exit"
        message = f"the worker ended in this call: {message or 'exit code 0'}"
    return msgspec.structs.replace(outcome, phase=phase, error_type=kind, message=message)


def struck() -> Outcome:
    """Say that a call was ended by mistake, and cannot be made again under its number: it has cost something."""
    message = "it was ended by the time limit of the call before it"
    return Outcome(phase=AttemptPhase.ABANDONED, error_type="abandoned", message=message)


def located(
    outcome: Outcome,
    *,
    pid: int,
    began_at_ms: int,
    wall_s: float,
    output_bytes: int,
    dropped_bytes: int,
    usage: str | None,
) -> Outcome:
    """Add to the end of a call what is the call's own, where the supervisor knew of the whole worker only."""
    measure = msgspec.structs.replace(
        outcome.measure, wall_s=wall_s, cpu_s=0.0, output_bytes=output_bytes, dropped_bytes=dropped_bytes
    )
    return msgspec.structs.replace(outcome, pid=pid, began_at_ms=began_at_ms, usage=read_usage(usage), measure=measure)


def of_call(outcome: Outcome, log: bytes | None, *, mask: tuple[str, ...]) -> tuple[Outcome, bytes | None]:
    """Leave out what is not the call's (its worker's only step) or not to be shown; what it printed passed nobody."""
    if mask:
        outcome = msgspec.structs.replace(
            outcome,
            message=mask_text(outcome.message, mask),
            traceback=UNSET if outcome.traceback is UNSET else mask_text(outcome.traceback, mask),
        )
        log = None if log is None else mask_bytes(log, mask)
    return msgspec.structs.replace(outcome, steps=()) if outcome.steps else outcome, log


def never_came(result: Result, *, said: bytes) -> Outcome:
    """Say why a call has no worker: its interpreter cannot be started, or ends before it asks for work."""
    outcome = read_outcome(result)
    if result.outcome in ("spawn", "fault"):
        return outcome
    words = said.decode(errors="replace").strip().splitlines()
    how = "it does not ask for work" if result.outcome == "cancelled" else outcome.message or "exit code 0"
    message = f"no worker starts: {how}" + (f"; it said: {words[-1]}" if words else "")
    return msgspec.structs.replace(outcome, phase=AttemptPhase.FAILED, error_type="spawn", message=message)


def read_call_log(directory: Path, identity: Identity) -> tuple[bytes, int, int]:
    """Read what a call printed whose worker died: what is kept of it, all of it in bytes, and what was dropped."""
    try:
        with (directory / CALL_LOG).open("rb") as file:
            return read_ends(file, head_bytes=identity.head_bytes, tail_bytes=identity.tail_bytes)
    except FileNotFoundError:
        return b"", 0, 0


def store_log(directory: Path, log: bytes) -> bytes | None:
    """Return a log that can be carried about; leave a larger one in the attempt's directory."""
    if len(log) <= STORED_LOG_BYTES:
        return log
    file_log(directory, log)
    return None


def file_log(directory: Path, log: bytes) -> None:
    """Leave a log in the attempt's directory, in the place of a link to that of its worker."""
    directory.mkdir(exist_ok=True)
    (directory / "log.new").write_bytes(log)
    (directory / "log.new").rename(directory / "log")
