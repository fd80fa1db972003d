"""Arguments that many commands take: a run, a task of it."""

from collections.abc import Callable

import click

from budwood._core.ids import LAST
from budwood.cli.complete import CandidateName, RunName, TaskName

Decorator = Callable[[Callable[..., object]], Callable[..., object]]


def run_argument(*, required: bool) -> Decorator:
    """Take a run; where it may be left out, the newest is meant."""
    if required:
        return click.argument("run", type=RunName())
    return click.argument("run", type=RunName(), required=False, default=LAST)


def task_argument() -> Decorator:
    """Take a task, or none."""
    return click.argument("task", type=TaskName(), required=False)


def candidate_argument(name: str = "candidate", *, required: bool = True) -> Decorator:
    """Take what an attempt made: TASK for what the task has come to, TASK.N for one attempt."""
    return click.argument(name, type=CandidateName(), required=required, metavar="TASK[.N]")
