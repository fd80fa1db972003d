"""One slot: its supervisor, what it works on, and how a supervisor is started.

Knows processes and the wire; must not know the run.
"""

import fcntl
import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from budwood.errors import ExecutorError
from budwood.executors.base import Work
from budwood.executors.local.link import Link
from budwood.executors.local.paths import RunPaths


@dataclass(slots=True)
class Slot:
    """One slot as the driver sees it."""

    number: int
    link: Link | None = None
    pid: int | None = None
    """Of a supervisor that is our child and must be reaped."""
    greeted: bool = False
    died_early: int = 0
    """How many supervisors in a row died before they greeted."""
    work: Work | None = None
    unsent: bool = False
    """The work waits for the supervisor's greeting or for a place on the machine."""
    forget: tuple[str, ...] = ()
    """Directories whose removal travels with the next start."""

    def reap(self) -> None:
        """Wait for our own supervisor, which has ended or is about to."""
        if self.pid is not None:
            os.waitpid(self.pid, 0)
            self.pid = None


def spawn_supervisor(slot: Slot, paths: RunPaths, *, binary: Path, env: Mapping[str, str]) -> Link:
    """Start a slot's supervisor in its own session, with a socket pair, so that nobody waits for a file to appear."""
    directory = paths.slot(slot.number)
    directory.mkdir(parents=True, exist_ok=True)
    argv = [str(binary), "serve", "--slot-dir", str(directory), "--socket", str(paths.socket(slot.number))]
    argv += ["--tmp", str(paths.tmp(slot.number)), "--run-dir", str(paths.run_dir)]
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    stderr = os.open(directory / "stderr", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    # Copies above 3: none may be overwritten before it is used, and a descriptor duplicated onto itself would stay
    # close-on-exec.
    high = [_above_three(fd) for fd in (null, stderr, theirs.fileno())]
    actions = [(os.POSIX_SPAWN_DUP2, high[i], target) for i, target in ((0, 0), (0, 1), (1, 2), (2, 3))]
    try:
        slot.pid = os.posix_spawn(argv[0], argv, dict(env), file_actions=actions, setsid=True)
    except OSError as error:
        ours.close()
        raise ExecutorError(f"the supervisor {binary} cannot be started: {error.strerror}") from error
    finally:
        theirs.close()
        for fd in (null, stderr, *high):
            os.close(fd)
    return Link(ours)


def _above_three(fd: int) -> int:
    return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 4)
