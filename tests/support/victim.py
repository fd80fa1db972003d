"""Drives a scene in a process of its own and kills it with -9 at the N-th point where that must be harmless.

`python -m tests.support.victim FACTORY ROOT AT`; AT -1 lives to the end and prints how many points there were.
"""

import os
import signal
import sys
from importlib import import_module
from pathlib import Path

from tests.support.scene import Scene


def main() -> None:
    """Drive until the chosen point."""
    factory, root, at = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    module, _, name = factory.partition(":")
    scene: Scene = getattr(import_module(module), name)(root)
    passed = 0

    def probe(_: str) -> None:
        nonlocal passed
        if passed == at:
            os.kill(os.getpid(), signal.SIGKILL)
        passed += 1

    scene.drive(probe=probe)
    print(passed)


main()
