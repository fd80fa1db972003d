"""How a new driver takes over the supervisors that an old one left.

Waits for answers, so it is for the time before the driver's loop runs. Must not know attempts.
"""

import os
import select
import time

from budwood.errors import ExecutorError
from budwood.executors.local.leftovers import is_alive, supervisor_pid
from budwood.executors.local.link import Link, shake_hands
from budwood.executors.local.paths import RunPaths
from budwood.executors.local.wire import HelloReply

_LOOK_AGAIN_S = 0.05
_ANSWER_WITHIN_S = 10.0


def greet_all(paths: RunPaths, fence: int) -> dict[int, tuple[Link, HelloReply]]:
    """Take every living supervisor over; when this returns, no older driver can reach any of them."""
    numbers = sorted(int(path.name) for path in paths.slots.iterdir() if path.name.isdigit())
    greeted = {number: _greet(paths, number, fence) for number in numbers}
    return {number: answer for number, answer in greeted.items() if answer is not None}


def _greet(paths: RunPaths, number: int, fence: int) -> tuple[Link, HelloReply] | None:
    until = time.monotonic() + _ANSWER_WITHIN_S
    while time.monotonic() < until:
        if not is_alive(paths.slot(number)):
            return None
        answer = shake_hands(paths.socket(number), fence)
        if answer is not None:
            return answer
        _wait_for_end(supervisor_pid(paths.slot(number)))
    pid = supervisor_pid(paths.slot(number))
    raise ExecutorError(
        f"the supervisor of slot {number} (pid {pid}) lives and does not answer; its attempt is safe",
        hint=f"if it is stopped, kill -CONT {pid}; else kill {pid}; then resume",
    )


def _wait_for_end(pid: int | None) -> None:
    """Give a supervisor that did not answer a moment: it is just starting, or it is about to exit."""
    try:
        fd = os.pidfd_open(pid) if pid is not None and hasattr(os, "pidfd_open") else None
    except ProcessLookupError:
        return
    select.select([] if fd is None else [fd], [], [], _LOOK_AGAIN_S)
    if fd is not None:
        os.close(fd)
