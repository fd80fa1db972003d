"""What was decided about tasks beside their attempts."""

from typing import Literal

from budwood._core.events.fact import Fact
from budwood._core.model import TaskId


class TasksSkipped(Fact, frozen=True, tag="tasks_skipped"):
    """These will not run, because of that task; or, under strict, because of any failure."""

    tasks: tuple[TaskId, ...]
    because: TaskId


class TasksCancelled(Fact, frozen=True, tag="tasks_cancelled"):
    """Somebody gave these up before they ran to an end."""

    tasks: tuple[TaskId, ...]
    whole_run: bool = False


class TasksRetried(Fact, frozen=True, tag="tasks_retried"):
    """Somebody asked for another go: these are wanted again, with fresh retries."""

    tasks: tuple[TaskId, ...]


class TaskReviewed(Fact, frozen=True, tag="task_reviewed"):
    """A person, or a rule, decided about what an attempt left: it is approved, rejected, or merged somewhere."""

    task: TaskId
    attempt: int
    decision: Literal["approved", "rejected", "merged"]
    text: str = ""
    """Why, or into what it was merged."""


class TaskRevised(Fact, frozen=True, tag="task_revised"):
    """Somebody wants more of what an attempt left: the task is wanted again, on top of that, with this said."""

    task: TaskId
    attempt: int
    text: str
