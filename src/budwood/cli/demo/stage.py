"""Plays the demonstration: starts `budwood run` as a user would, kills it, and starts `budwood resume`.

Knows child processes and the store of the project that it made. Works with and without a terminal.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from budwood._core.model import AttemptPhase
from budwood._core.rows import AttemptRow
from budwood.cli.demo.plan import LONG, NAME
from budwood.errors import InternalError
from budwood.stores import Store, open_store

_WITHIN_S = 30.0
_LOOK_AGAIN_S = 0.03
_LONGEST_S = 60.0

Say = Callable[[str], None]


class Stage:
    """One project in a directory of its own, and the commands that are given in it."""

    def __init__(self, project: Path, *, environ: Mapping[str, str], say: Say) -> None:
        self.project = project
        self._say = say
        kept = {name: value for name, value in environ.items() if not name.startswith("BUDWOOD_")}
        self._env = {**kept, "XDG_CONFIG_HOME": str(project / "config")}  # a demonstration knows no one's settings

    def start(self, *words: str) -> subprocess.Popen[str]:
        """Start a budwood command."""
        return subprocess.Popen(
            [sys.executable, "-m", "budwood", *words],
            cwd=self.project,
            env=self._env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def call(self, *words: str) -> tuple[int, str]:
        """Give a budwood command and wait for it; return its exit code and what it printed."""
        process = self.start(*words)
        try:
            text, _ = process.communicate(timeout=_LONGEST_S)
        except subprocess.TimeoutExpired:
            process.kill()
            text, _ = process.communicate()
        return process.returncode, text

    def show(self, process: subprocess.Popen[str], *, until: Callable[[str], bool] = lambda line: False) -> None:
        """Repeat what a command says, until it ends or says a certain thing."""
        assert process.stdout is not None
        for line in process.stdout:
            self._say(f"  │ {line.rstrip()}")
            if until(line):
                return

    def open_store(self) -> Store:
        """Open the project's store."""
        return open_store(self.project / ".budwood" / "store.db", create=False)

    def running(self, store: Store) -> dict[str, AttemptRow]:
        """Return the attempts that run, by task."""
        run = store.runs()[-1].id
        ids = {task.number: str(task.id) for task in store.tasks(run)}
        attempts = store.attempts(run)
        return {ids[row.task]: row for row in attempts if row.phase is AttemptPhase.RUNNING}

    def kill_in_the_middle(self, driver: subprocess.Popen[str]) -> dict[str, AttemptRow]:
        """Kill the driver when the long tasks and one more run; return what ran."""
        with self.open_store() as store:
            wait_for(lambda: set(LONG) < set(self.running(store)), what="three tasks to run at once")
            driver.kill()
            driver.wait()
            return self.running(store)

    def worked_alone(self, running: Sequence[str]) -> str:
        """Wait until one of the tasks that ran has done its work with no driver there; return its id."""
        found: list[str] = []

        def done() -> bool:
            found.extend(task for task in running if (self.project / "did" / task).exists())
            return bool(found)

        wait_for(done, what="an attempt to finish without a driver")
        return found[0]

    def clear(self) -> None:
        """End whatever is left, also after a Ctrl-C."""
        if (self.project / ".budwood" / "store.db").exists():
            self.call("cancel", NAME)


def is_alive(pid: int | None) -> bool:
    """Say whether a process is there."""
    if pid is None:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def wait_for(condition: Callable[[], bool], *, what: str) -> None:
    """Wait until something is so."""
    until_s = time.monotonic() + _WITHIN_S
    while not condition():
        if time.monotonic() > until_s:
            raise InternalError(f"the demonstration waited {_WITHIN_S:.0f} s for {what}")
        time.sleep(_LOOK_AGAIN_S)
