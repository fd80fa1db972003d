"""The program, but its driver kills itself with -9 at the N-th git command that the merge queue gives.

`python -m tests.queue.victim AT run plan.toml`; with AT -1 it lives, and its last line on standard error is how many
there were. Everything else is as a user has it.
"""

import os
import signal
import sys
from threading import local

from budwood._core.commands import Chore
from budwood._core.events import Event
from budwood.cli.app import _run
from budwood.engine.workshop.queue import Queue
from budwood.workspaces.git import Git


def main() -> int:
    """Drive until the chosen command."""
    at = int(sys.argv[1])
    sys.argv = ["budwood", *sys.argv[2:]]
    inside, passed = local(), [0]
    do, run = Queue.do, Git.run

    def watched_do(self: Queue, chore: Chore) -> list[Event]:
        inside.queue = True
        try:
            return do(self, chore)
        finally:
            inside.queue = False

    def watched_run(self: Git, *words: str, **keys: object) -> bytes:
        if getattr(inside, "queue", False):
            if passed[0] == at:
                os.kill(os.getpid(), signal.SIGKILL)
            passed[0] += 1
        return run(self, *words, **keys)  # type: ignore[arg-type]

    Queue.do = watched_do  # type: ignore[method-assign]
    Git.run = watched_run  # type: ignore[method-assign]
    code = _run()
    print(passed[0], file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
