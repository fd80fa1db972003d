"""`python -m budwood.agents.script FILE`: one attempt that follows the steps of a file, in the current directory.

Reads the command line and the environment, and prints. The last line of its output is a `Report`.
"""

import os
import sys
from pathlib import Path

from budwood import __version__
from budwood.agents.report import Outcome, Report, finish, say
from budwood.agents.script.follow import AGENT, Follower
from budwood.agents.script.place import place_in
from budwood.agents.script.steps import read_steps
from budwood.errors import UsageError


def main(arguments: list[str]) -> int:
    """Follow a file; return 0 if all steps were done, 2 if the file is wrong, else the code of the step that failed."""
    if arguments == ["--version"]:
        say(f"budwood {__version__}")
        return 0
    try:
        if len(arguments) != 1 or arguments[0].startswith("-"):
            raise UsageError("one file of steps is wanted", hint="python -m budwood.agents.script FILE")
        file = arguments[0]
        steps = place_in(os.environ).steps(read_steps(Path(file)), file=file)
    except UsageError as error:
        message = error.message if error.hint is None else f"{error.message}; {error.hint}"
        print(message, file=sys.stderr)
        finish(Report(agent=AGENT, outcome=Outcome.FAILED, message=message))
        return error.exit_code
    report, code = Follower().follow(steps)
    finish(report)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
