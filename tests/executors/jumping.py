"""Drives a scene while the wall clock jumps about: `python -m tests.executors.jumping ROOT`."""

import sys
import time
from pathlib import Path

from tests.support.scene import Scene, said

from budwood._core.model import RunSettings, TaskSpec

DAY_NS = 86_400 * 1_000_000_000


def jumping_scene(root: Path) -> Scene:
    """Tasks with a failure that is tried again, one after the other."""
    commands = ["true", "[ $BUDWOOD_ATTEMPT = 2 ]", "true", "true"]
    tasks = [
        TaskSpec(id=n, run=said(command), after=(n - 1,) if n else (), retries=n) for n, command in enumerate(commands)
    ]
    return Scene(root, tasks, settings=RunSettings(slots=2, seed=3, backoff_s=0.05))


def main() -> None:
    """Drive; each look at the wall clock is a day later or earlier than the one before."""
    real_ns, real = time.time_ns, time.time
    looks = 0

    def jump_ns() -> int:
        nonlocal looks
        looks += 1
        return (looks if looks % 2 else -looks) * DAY_NS

    time.time_ns = lambda: real_ns() + jump_ns()
    time.time = lambda: real() + jump_ns() / 1e9
    verdict = jumping_scene(Path(sys.argv[1])).drive()
    print(verdict.exit_code, verdict.driven_s)


if __name__ == "__main__":
    main()
