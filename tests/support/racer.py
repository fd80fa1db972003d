"""Tries to drive whatever run it is told to, over and over: one line in (a directory), one line out (`won` or `held`).

Everything is imported before the first line is read, so that racers really meet.
"""

import sys
from pathlib import Path

from tests.support.scene import Scene, said

from budwood._core.model import TaskSpec
from budwood.errors import LeaseHeld


def race(root: Path) -> Scene:
    """One task that lasts until somebody opens the gate."""
    return Scene(root, [TaskSpec(id="only", run=said("read line < gate"))])


def main() -> None:
    """Race until there are no more lines."""
    for line in sys.stdin:
        try:
            verdict = race(Path(line.strip())).drive()
            print(f"won {verdict.exit_code}", flush=True)
        except LeaseHeld:
            print("held", flush=True)


if __name__ == "__main__":
    main()
