"""One supervisor as its driver sees it: started when it is needed, greeted, and missed when it is gone.

Knows processes and the wire; must not know what its attempts are for.
"""

import errno
import fcntl
import os
import socket
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from budwood.errors import ExecutorError, LeaseLost
from budwood.executors.local.ground import Ground
from budwood.executors.local.leftovers import is_alive, last_words
from budwood.executors.local.link import Link
from budwood.executors.local.paths import RunPaths, clear_runtime
from budwood.executors.local.wire import Exit, FromSupervisor, Hello, HelloReply, Refused, ToSupervisor

_GONE_WITHIN_S = 5.0
_LOOK_AGAIN_S = 0.01
_STARTS = 3
"""A supervisor that dies so often before its greeting will not start at all."""
_NO_ROOM = 73
"""How it exits when the disk is full before it greets: what it complains of has no room either."""
_left: set[int] = set()
"""Children of this process that were left to exit by themselves. A program may drive many runs: none stays a zombie."""


class Supervisor:
    """The supervisor of one slot, by the slot's name."""

    def __init__(
        self,
        name: str,
        ground: Ground,
        *,
        on_ready: Callable[[], None],
        on_message: Callable[[FromSupervisor], None],
        on_gone: Callable[[], None],
        on_no_room: Callable[[], None],
    ) -> None:
        self.name = name
        self.greeted = False
        self._ground = ground
        self._on_ready, self._on_message, self._on_gone = on_ready, on_message, on_gone
        self._on_no_room = on_no_room
        self._link: Link | None = None
        self._pid: int | None = None
        """Of one that is our child and must be reaped."""
        self._died_early = 0
        """How many in a row died before they greeted."""

    @property
    def is_there(self) -> bool:
        """Say whether there is one to speak to, though it may not have greeted yet."""
        return self._link is not None

    def call(self) -> None:
        """Start it, unless it is there; it is ready when it has greeted."""
        if self._link is None:
            place = self._ground.place
            try:
                link, self._pid = _spawn(self.name, place.paths, binary=place.binary, env=place.base_env)
            except OSError as error:
                if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                    raise
                self._ground.loop.later(0.0, self._on_no_room)
                return
            self._attach(link)
            link.send(Hello(self._ground.fence))

    def adopt(self, link: Link) -> None:
        """Take one over that has greeted already."""
        self.greeted = True
        self._attach(link)

    def send(self, message: ToSupervisor, *, fds: Sequence[int] = ()) -> None:
        """Tell it something; it hears nothing when it is not there."""
        if self._link is not None:
            self._link.send(message, fds=fds)

    def hear(self, within_s: float) -> bool:
        """Take what it says within a time, without the loop; say whether it said anything."""
        return self._link is not None and self._link.hear(within_s)

    def leave(self) -> None:
        """Let it exit when it is idle, and hang up."""
        if self._link is not None:
            self._link.send(Exit(self._ground.fence))
            self._link.close()
        if self._pid is not None:
            _left.add(self._pid)

    def _attach(self, link: Link) -> None:
        self._link = link
        link.attach(self._ground.loop, on_message=self._hear, on_gone=lambda: self._gone(waited_s=0.0))

    def _hear(self, message: FromSupervisor) -> None:
        if isinstance(message, HelloReply):
            self.greeted = True
            self._on_ready()
        elif isinstance(message, Refused) and message.reason == "fence":
            raise LeaseLost(f"a newer driver (fence {message.fence}) has taken the supervisors over")
        else:
            self._on_message(message)

    def _gone(self, *, waited_s: float) -> None:
        """Note that it hung up; it is gone when it has let go of its lock."""
        paths = self._ground.place.paths
        if is_alive(paths.slot(self.name)):  # the kernel closes its files one by one, the lock not first
            if waited_s > _GONE_WITHIN_S:
                raise LeaseLost(f"the supervisor of slot {self.name} hung up on this driver and lives")
            self._ground.loop.later(_LOOK_AGAIN_S, lambda: self._gone(waited_s=waited_s + _LOOK_AGAIN_S))
            return
        no_room = False
        if self._pid is not None:
            _, status = os.waitpid(self._pid, 0)
            no_room = not self.greeted and os.waitstatus_to_exitcode(status) == _NO_ROOM
            self._pid = None
        if no_room:
            self._link = None
            self._on_no_room()
            return
        self._died_early = 0 if self.greeted else self._died_early + 1
        if self._died_early >= _STARTS:
            raise ExecutorError(
                f"the supervisor of slot {self.name} does not start: {last_words(paths.slot(self.name))}",
                hint="budwood doctor looks at what it needs",
            )
        self._link, self.greeted = None, False
        clear_runtime(paths, self.name)
        self._on_gone()


def reap_left() -> None:
    """Reap supervisors that were left and have ended."""
    for pid in list(_left):
        try:
            ended, _ = os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:  # whoever else waits for children here was quicker
            ended = pid
        if ended:
            _left.discard(pid)


def _spawn(name: str, paths: RunPaths, *, binary: Path, env: Mapping[str, str]) -> tuple[Link, int]:
    """Start a slot's supervisor in its own session, with a socket pair, so that nobody waits for a file to appear."""
    directory = paths.slot(name)
    directory.mkdir(parents=True, exist_ok=True)
    argv = [str(binary), "serve", "--slot-dir", str(directory), "--socket", str(paths.socket(name))]
    argv += ["--tmp", str(paths.tmp(name)), "--run-dir", str(paths.run_dir)]
    stderr = os.open(directory / "stderr", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    # Copies above 3: none may be overwritten before it is used, and a descriptor duplicated onto itself would stay
    # close-on-exec.
    high = [_above_three(fd) for fd in (null, stderr, theirs.fileno())]
    actions = [(os.POSIX_SPAWN_DUP2, high[i], target) for i, target in ((0, 0), (0, 1), (1, 2), (2, 3))]
    try:
        pid = os.posix_spawn(argv[0], argv, dict(env), file_actions=actions, setsid=True)
    except OSError as error:
        ours.close()
        raise ExecutorError(f"the supervisor {binary} cannot be started: {error.strerror}") from error
    finally:
        theirs.close()
        for fd in (null, stderr, *high):
            os.close(fd)
    return Link(ours), pid


def _above_three(fd: int) -> int:
    return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 4)
