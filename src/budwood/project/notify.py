"""Tells somebody that a run ended, pauses or waits: a shell command of the user's, told by its environment.

Bounded, and never a reason for a run to fail. Knows the verdict.
"""

import os
import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress

from budwood._core.model import RunPhase, TaskPhase
from budwood.engine.verdict import Verdict

LIMIT_S = 30.0
_WORTH_TELLING = (RunPhase.FINISHED, RunPhase.CANCELLED, RunPhase.PAUSED, RunPhase.WAITING)


def notify(command: str, verdict: Verdict, *, environ: Mapping[str, str], limit_s: float = LIMIT_S) -> str | None:
    """Run the command; return what went wrong, in words. A driver that was interrupted has nothing to tell."""
    if verdict.phase not in _WORTH_TELLING:
        return None
    told = {
        "BUDWOOD_RUN": verdict.name,
        "BUDWOOD_STATE": verdict.phase.value,
        "BUDWOOD_EXIT": str(verdict.exit_code),
        "BUDWOOD_REASON": verdict.reason,
        "BUDWOOD_DONE": str(verdict.counts[TaskPhase.DONE.value]),
        "BUDWOOD_FAILED": str(verdict.counts[TaskPhase.FAILED.value]),
    }
    # A session of its own, so that what the command started can be ended with it. Its output is not ours to show.
    process = subprocess.Popen(
        command,
        shell=True,
        env={**environ, **told},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        _, stderr = process.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return f"the notify command was ended after {limit_s:.0f} s: {command}"
    if process.returncode == 0:
        return None
    said = stderr.decode(errors="replace").strip().splitlines()
    return f"the notify command failed with exit code {process.returncode}: {command}" + (
        f": {said[-1]}" if said else ""
    )
