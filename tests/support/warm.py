"""The program without the time to load it.

Loading Python and some 300 modules is most of what a short command takes, and the suites give thousands. Here a process
that has loaded them forks one for each command (`forking`), which is the program as it is: with an environment, a
directory, streams and an end of its own. Two such processes take turns, so that commands that follow each other still
do not agree on the order of their sets.

Must not be used for what is to be killed, or for what a terminal or the first import decides: that is started cold.
"""

import atexit
import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from tests.support import forking

_FIXED = ("PYTHON", "LC_", "LANG", "LD_")
"""Variables that are read when Python starts; a command that is given others is started cold."""


def run(words: Sequence[str], *, cwd: Path, env: Mapping[str, str], timeout_s: float) -> tuple[int, str, str]:
    """Give a command and wait for it; return its exit code and what it wrote to both outputs."""
    if any(env.get(name) != os.environ.get(name) for name in {*env, *os.environ} if name.startswith(_FIXED)):
        done = subprocess.run(
            [sys.executable, "-m", "budwood", *words],
            cwd=cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr
    return next(_turns()).run(words, cwd=cwd, env=env, timeout_s=timeout_s)


class Forking:
    """A process that forks the program."""

    def __init__(self) -> None:
        self._asking, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, forking.__file__, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
            )
        atexit.register(self.end)

    def run(self, words: Sequence[str], *, cwd: Path, env: Mapping[str, str], timeout_s: float) -> tuple[int, str, str]:
        """Give a command and wait for it."""
        message = json.dumps({"words": words, "cwd": str(cwd), "env": dict(env)}).encode()
        reply, theirs = socket.socketpair()
        with reply, tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
            with theirs:
                socket.send_fds(self._asking, [message], [out.fileno(), err.fileno(), theirs.fileno()])
            reply.settimeout(timeout_s)
            pid = int.from_bytes(reply.recv(4), "big")
            try:
                ended = reply.recv(4)
            except TimeoutError:
                os.kill(pid, signal.SIGKILL)
                raise subprocess.TimeoutExpired(["budwood", *words], timeout_s) from None
            out.seek(0)
            err.seek(0)
            return int.from_bytes(ended, "big", signed=True), out.read(), err.read()

    def end(self) -> None:
        """Let it go."""
        self._asking.close()
        self._process.wait(10)


@cache
def _turns() -> "itertools.cycle[Forking]":
    return itertools.cycle((Forking(), Forking()))
