"""Leaves the terminal: the same program goes on in a session of its own, with its output in a file.

The one who started it waits until the run is under way or has failed to be. Knows processes; must not know runs. No
thread and no store may be open when it is called: neither survives a fork.
"""

import os
import select
import signal
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from budwood.project.listening import wait_listening


@dataclass(frozen=True, slots=True)
class Background:
    """What the process that stayed behind sees: it must call `ready` when it is under way."""

    ready: Callable[[], None]


@dataclass(frozen=True, slots=True)
class Foreground:
    """What the process at the terminal sees: that the other is under way, or how it ended and what it said."""

    pid: int
    exit_code: int | None
    said: str


def detach(log: Path) -> Background | Foreground:
    """Go on in two processes."""
    log.parent.mkdir(parents=True, exist_ok=True)
    log_fd = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    before = os.fstat(log_fd).st_size
    read_fd, write_fd = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read_fd)
        _leave_terminal(log_fd)
        return Background(lambda: _signal_ready(write_fd))
    os.close(write_fd)
    os.close(log_fd)
    wait_listening(lambda slice_s: bool(select.select([read_fd], [], [], slice_s)[0]))
    under_way = os.read(read_fd, 1) != b""
    os.close(read_fd)
    if under_way:
        return Foreground(pid, None, "")
    _, status = os.waitpid(pid, 0)
    return Foreground(pid, os.waitstatus_to_exitcode(status), log.read_bytes()[before:].decode(errors="replace"))


def _leave_terminal(log_fd: int) -> None:
    os.setsid()
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # a logout must not reach us
    null = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    for source, target in ((null, 0), (log_fd, 1), (log_fd, 2)):
        os.dup2(source, target)
    for fd in (null, log_fd):
        if fd > 2:
            os.close(fd)


def _signal_ready(write_fd: int) -> None:
    with suppress(BrokenPipeError):  # whoever started us did not wait
        os.write(write_fd, b"!")
    os.close(write_fd)
