"""Drives a scene under a machine-wide cap, in a process of its own.

`python -m tests.executors.capped ROOT TOKENS LIMIT`; its last line says how often it looked for a place.
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path

from tests.support.scene import RUNTIME, Scene

from budwood._core.model import RunSettings, TaskSpec
from budwood.executors.base import Loop
from budwood.executors.local import LocalExecutor, RunPaths, Tokens, find_binary, make_runtime

TASKS = 8


class Counted(Tokens):
    """Tokens that count."""

    looks = 0

    def take(self) -> int | None:
        Counted.looks += 1
        return super().take()


class CappedScene(Scene):
    """A scene whose attempts need a place on the machine."""

    __slots__ = ()
    tokens: tuple[Path, int] = (Path(), 0)

    def executor(self) -> LocalExecutor:
        paths = RunPaths(self.root / ".budwood" / "runs" / self.run_id, runtime=make_runtime(RUNTIME, self.run_id))
        folder, limit = CappedScene.tokens
        make: Callable[[Loop], Tokens] = lambda loop: Counted(folder, limit, loop=loop)  # noqa: E731
        return LocalExecutor(paths, run_id=self.run_id, binary=find_binary(), environ=os.environ, tokens=make)


def capped_scene(root: Path) -> CappedScene:
    """Tasks that say when they are there; a first one waits at a gate, if there is one."""
    command = "echo + >> ../trace; [ ! -p ../gate ] || read line < ../gate; sleep 0.03; echo - >> ../trace"
    tasks = [TaskSpec(id=n, run=command) for n in range(TASKS)]
    return CappedScene(root, tasks, settings=RunSettings(slots=3, grace_s=1.0))


def main() -> None:
    """Drive to the end."""
    root, folder, limit = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
    CappedScene.tokens = (folder, limit)
    verdict = capped_scene(root).drive()
    print(verdict.exit_code, Counted.looks)


if __name__ == "__main__":
    main()
