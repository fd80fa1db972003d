"""How a new driver takes over the supervisors that an old one left.

Waits for answers, so it is for the time before the driver's loop runs. Must not know attempts.
"""

import os
import re
import select
import time

from budwood.errors import ExecutorError
from budwood.executors.local.leftovers import is_alive, supervisor_pid
from budwood.executors.local.link import Link, shake_hands
from budwood.executors.local.paths import RunPaths
from budwood.executors.local.wire import HelloReply

_LOOK_AGAIN_S = 0.05
_ANSWER_WITHIN_S = 10.0
_NAME = re.compile(r"w?\d+")

Greeted = dict[str, tuple[Link, HelloReply]]
"""Supervisors that were taken over, by the names of their slots."""


def greet_all(paths: RunPaths, fence: int) -> Greeted:
    """Take every living supervisor over; when this returns, no older driver can reach any of them."""
    names = sorted(path.name for path in paths.slots.iterdir() if _NAME.fullmatch(path.name))
    greeted = {name: _greet(paths, name, fence) for name in names}
    return {name: answer for name, answer in greeted.items() if answer is not None}


def _greet(paths: RunPaths, name: str, fence: int) -> tuple[Link, HelloReply] | None:
    until = time.monotonic() + _ANSWER_WITHIN_S
    while time.monotonic() < until:
        if not is_alive(paths.slot(name)):
            return None
        answer = shake_hands(paths.socket(name), fence)
        if answer is not None:
            return answer
        _wait_for_end(supervisor_pid(paths.slot(name)))
    pid = supervisor_pid(paths.slot(name))
    raise ExecutorError(
        f"the supervisor of slot {name} (pid {pid}) lives and does not answer; its attempt is safe",
        hint=f"if it is stopped, kill -CONT {pid}; else kill {pid}; then resume",
    )


def wait_until_gone(paths: RunPaths, name: str, *, within_s: float) -> None:
    """Wait for a supervisor that was told to end what it has and to exit."""
    until = time.monotonic() + within_s
    while is_alive(paths.slot(name)):
        pid = supervisor_pid(paths.slot(name))
        if time.monotonic() > until:
            raise ExecutorError(
                f"the supervisor of slot {name} (pid {pid}) lives though it was told to leave",
                hint=f"if it is stopped, kill -CONT {pid}; else kill {pid}; then resume",
            )
        _wait_for_end(pid)


def _wait_for_end(pid: int | None) -> None:
    """Give a supervisor that did not answer a moment: it is just starting, or it is about to exit."""
    try:
        fd = os.pidfd_open(pid) if pid is not None and hasattr(os, "pidfd_open") else None
    except ProcessLookupError:
        return
    select.select([] if fd is None else [fd], [], [], _LOOK_AGAIN_S)
    if fd is not None:
        os.close(fd)
