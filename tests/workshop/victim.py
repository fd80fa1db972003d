"""The program, but its driver kills itself with -9 at the N-th point where that must be harmless.

`python -m tests.workshop.victim AT run night.json`; with AT -1 it lives, and its last line on standard error is how
many points there were. Everything else is as a user has it.
"""

import os
import signal
import sys

from budwood.cli.app import _run
from budwood.engine.driver import Driver


def main() -> int:
    """Drive until the chosen point."""
    at = int(sys.argv[1])
    sys.argv = ["budwood", *sys.argv[2:]]
    passed = 0

    def probe(_: str) -> None:
        nonlocal passed
        if passed == at:
            os.kill(os.getpid(), signal.SIGKILL)
        passed += 1

    begin = Driver.__init__

    def watched(self: Driver, *args: object, **keys: object) -> None:
        begin(self, *args, **{**keys, "probe": probe})  # type: ignore[arg-type]

    Driver.__init__ = watched  # type: ignore[method-assign]
    code = _run()
    print(passed, file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
