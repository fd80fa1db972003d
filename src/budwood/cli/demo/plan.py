"""The demonstration's plan: twelve tasks, one of which fails at its first attempt.

Every task writes a line when it begins and one when it has done its work, so that doing it twice, or not at all, shows.
"""

from dataclasses import dataclass
from pathlib import Path

NAME = "demo"
LONG = ("train-a", "train-b")
"""They run when the driver is killed, and still do when the next one comes."""


@dataclass(frozen=True, slots=True)
class _Task:
    id: str
    seconds: float
    after: tuple[str, ...] = ()
    flaky: bool = False


TASKS = (
    _Task("fetch-a", 0.8),
    _Task("fetch-b", 0.8),
    _Task("fetch-c", 0.8),
    _Task("clean", 0.5, ("fetch-a", "fetch-b", "fetch-c")),
    _Task("train-a", 4.0, ("clean",)),
    _Task("train-b", 4.0, ("clean",)),
    _Task("lint", 1.2, ("clean",)),
    _Task("flaky", 0.4, ("fetch-a",), flaky=True),
    _Task("test", 0.5, ("flaky",)),
    _Task("docs", 0.5, ("lint",)),
    _Task("merge", 0.5, ("train-a", "train-b", "test")),
    _Task("report", 0.3, ("merge", "docs")),
)


def write_plan(project: Path, *, slots: int) -> Path:
    """Make a project with the plan in it; return the plan's file."""
    for folder in ("began", "did"):
        (project / folder).mkdir(parents=True)
    (project / "budwood.toml").write_text("")
    tables = [f'[run]\nname = "{NAME}"\nseed = 7\nslots = {slots}\nbackoff = "1s"\n']
    tables += (_table(task) for task in TASKS)
    path = project / "plan.toml"
    path.write_text("\n".join(tables))
    return path


def _table(task: _Task) -> str:
    fails = '[ "$BUDWOOD_ATTEMPT" -gt 1 ] || { echo "no luck"; exit 1; }; ' if task.flaky else ""
    work = (
        f"echo $BUDWOOD_ATTEMPT >> began/{task.id}; {fails}sleep {task.seconds}; echo $BUDWOOD_ATTEMPT >> did/{task.id}"
    )
    after = ", ".join(f'"{name}"' for name in task.after)
    return f"[[task]]\nid = \"{task.id}\"\nafter = [{after}]\nretries = {int(task.flaky)}\nrun = '''{work}'''\n"
