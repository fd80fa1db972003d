"""Waiting until a run rests: in a thread, or in an event loop without blocking it.

Knows drives, and runs that others drive. Must not touch signals: Ctrl-C comes as Python brings it.
"""

import asyncio
import time
import warnings
from threading import current_thread

from budwood.api.driving import Driving
from budwood.api.hearing import Hearing
from budwood.api.inside import Inside
from budwood.api.look import Look
from budwood.engine.verdict import Verdict

CATCH_UP_S = 5.0
"""For so long, at its end, a run waits until on_event has heard of everything."""
_AT_A_TIME_S = 1.0
"""For so long one look at another's run lasts; a thread that nobody waits for any more goes on for no longer."""
_HELD_UP = "while run.wait() blocks the event loop that it is awaited in: use `await run`"


def wait(inside: Inside, timeout_s: float | None) -> Verdict:
    """Wait in this thread."""
    driving = inside.driving
    inside.look.refuse_fork()
    if driving is None:
        return _watch(inside.look, timeout_s)
    until_s = None if timeout_s is None else time.monotonic() + timeout_s
    try:
        if not driving.over.wait(timeout_s):
            raise _too_long(inside.look, timeout_s)
    except KeyboardInterrupt:
        driving.stop()
        raise
    hearing = driving.hearing
    within_s = CATCH_UP_S if until_s is None else min(CATCH_UP_S, max(0.0, until_s - time.monotonic()))
    if hearing is not None and not hearing.is_called_in(current_thread()) and not hearing.catch_up(within_s):
        _warn_of_missing(hearing, why=_HELD_UP if hearing.is_held_up_here() else _too_slow(within_s))
    return _outcome(driving)


async def rest(inside: Inside) -> Verdict:
    """Wait in the running event loop; who cancels this leaves the run going."""
    driving = inside.driving
    inside.look.refuse_fork()
    if driving is None:
        while (verdict := await asyncio.to_thread(inside.look.verdict, wait_s=_AT_A_TIME_S)) is None:
            pass
        return verdict
    await driving.over.reached()
    hearing = driving.hearing
    if hearing is not None and not await hearing.done.reached(CATCH_UP_S):
        _warn_of_missing(hearing, why=_too_slow(CATCH_UP_S))
    return _outcome(driving)


def _watch(look: Look, timeout_s: float | None) -> Verdict:
    until_s = None if timeout_s is None else time.monotonic() + timeout_s
    while True:
        left_s = _AT_A_TIME_S if until_s is None else min(_AT_A_TIME_S, until_s - time.monotonic())
        verdict = look.verdict(wait_s=max(0.0, left_s))
        if verdict is not None:
            return verdict
        if left_s <= 0:
            raise _too_long(look, timeout_s)


def _too_long(look: Look, timeout_s: float | None) -> TimeoutError:
    return TimeoutError(f"run {look.name} is not at rest after {timeout_s:g} s")


def _outcome(driving: Driving) -> Verdict:
    if driving.failure is not None:
        raise driving.failure
    assert driving.verdict is not None
    return driving.verdict


def _too_slow(within_s: float) -> str:
    return f"after {round(within_s, 1):g} s"


def _warn_of_missing(hearing: Hearing, *, why: str) -> None:
    text = f"on_event has not heard of {hearing.missing} events {why}; run.events() has all of them"
    warnings.warn(text, RuntimeWarning, stacklevel=4)
