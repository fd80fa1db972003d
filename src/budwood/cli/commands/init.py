"""`budwood init`: a project with settings and a plan that really runs."""

from pathlib import Path

import click

from budwood.cli.looking import note
from budwood.errors import UsageError
from budwood.project.place import SETTINGS_FILE, STATE_DIR, make_state_dir

PLAN_FILE = "plan.toml"

_SETTINGS = """\
# Settings of this project; a plan's own [run] and flags are stronger. `budwood config show` lists every key.

[run]
# slots = 4            # how many attempts run at once; default: all cores
# timeout = "10m"      # time limit of each attempt
# retries = 1          # how often a failed task is tried again
# notify = "notify-send \\"budwood: $BUDWOOD_RUN $BUDWOOD_STATE\\""

[machine]
# machine_slots = 16   # all runs of this machine together
"""

_PLAN = """\
# A plan: tasks, each a command, and what each comes after. Run it: budwood run plan.toml

[run]
goal = "See how it works"
backoff = "1s"         # wait before the first retry; each further one waits twice as long

[[task]]
id = "fetch"
run = "echo fetching; sleep 1; seq 1 100 > numbers.txt"

[[task]]
id = "count"
after = ["fetch"]      # starts when fetch is done
run = "wc -l < numbers.txt"

[[task]]
id = "sum"
after = ["fetch"]      # at the same time as count
run = ["awk", "{ total += $1 } END { print total }", "numbers.txt"]

[[task]]
id = "flaky"
retries = 2            # fails at its first attempt, so it is tried again
timeout = "1m"
run = 'test "$BUDWOOD_ATTEMPT" -gt 1'

[[task]]
id = "report"
after = ["count", "sum", "flaky"]
run = "echo all done"
"""


@click.command()
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False), default=Path())
def command(directory: Path) -> None:
    """Make DIRECTORY (default: here) a project: settings, and a plan to try.

    Files that are there are never overwritten.

    \b
    Example: budwood init && budwood run plan.toml
    """
    files = {directory / SETTINGS_FILE: _SETTINGS, directory / PLAN_FILE: _PLAN}
    there = [path for path in files if path.exists()]
    if there:
        raise UsageError(
            f"{' and '.join(map(str, there))} {'is' if len(there) == 1 else 'are'} there already; nothing was written",
            hint="budwood init DIRECTORY makes a project elsewhere",
        )
    try:
        directory.mkdir(parents=True, exist_ok=True)
        make_state_dir(directory / STATE_DIR)
        for path, text in files.items():
            with path.open("x", encoding="utf-8") as file:
                file.write(text)
    except OSError as error:
        raise UsageError(f"{error.filename or directory} cannot be written: {error.strerror}") from error
    _tell(directory, list(files))


def _tell(directory: Path, files: list[Path]) -> None:
    plan = directory / PLAN_FILE
    note(
        f"made {', '.join(map(str, files))} and {directory / STATE_DIR}, which git ignores\n\n"
        f"  budwood plan show {plan}   draws the plan\n"
        f"  budwood run {plan}         runs it\n"
        f"  budwood status{' ' * len(str(plan))}       shows what runs and what ended"
    )
