"""What tools are called with: one struct per tool, from which its schema is made.

Knows plain values and their bounds. Must not know what becomes of them.
"""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from budwood._core.model import TaskId, TaskPhase

_Ids = Annotated[list[TaskId], Meta(description="Ids of tasks of this run.")]
_Kind = Annotated[
    Literal["hard", "soft"],
    Meta(description="hard: it starts when all of depends_on are done. soft: they only come first where that is free."),
]


class CreateTask(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of create_task."""

    description: Annotated[str, Meta(description="What it is about, in a line.", min_length=1, max_length=500)]
    action: Annotated[str, Meta(description="What an agent is to do, in full: it sees nothing else.")] = ""
    lane: Annotated[TaskId | None, Meta(description="The lane it belongs to, one that the run has.")] = None
    depends_on: _Ids = []
    dependency_type: _Kind = "hard"
    priority: Annotated[int, Meta(description="Among tasks that are ready the higher one starts first.")] = 0
    id: Annotated[str | None, Meta(description="What it is called; made from the description if left out.")] = None
    run: Annotated[str | None, Meta(description="A shell command, instead of action.")] = None
    agent: Annotated[str | None, Meta(description="Who does it; as for your own task if left out.")] = None
    model: Annotated[str | None, Meta(description="The model; as for your own task if left out.")] = None


class UpdateTask(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of update_task."""

    task: Annotated[TaskId, Meta(description="The id of a task that was created and has not begun.")]
    description: Annotated[str, Meta(min_length=1, max_length=500)] | None = None
    action: str | None = None
    run: str | None = None
    depends_on: Annotated[list[TaskId] | None, Meta(description="All that it depends on from now on.")] = None
    dependency_type: _Kind = "hard"
    priority: int | None = None


class ListTasks(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of list_tasks."""

    state: Annotated[TaskPhase | None, Meta(description="Only those in this state.")] = None
    lane: Annotated[TaskId | None, Meta(description="Only those of this lane.")] = None
    first: Annotated[int, Meta(description="The number of the first one to list.", ge=0)] = 0
    limit: Annotated[int, Meta(description="How many to list.", ge=1, le=500)] = 50


class GetContext(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of get_context."""

    task: Annotated[TaskId | None, Meta(description="The task; your own if left out.")] = None


class ReportProgress(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of report_progress."""

    text: Annotated[str, Meta(description="Where you are, in a line; what is longer is cut.", min_length=1)]
    percent: Annotated[float, Meta(description="How far you have come.", ge=0, le=100)] | None = None


class AskHuman(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of ask_human."""

    question: Annotated[
        str | None, Meta(description="What you ask; left out, the answer to what you asked before is waited for.")
    ] = None


class GetBudget(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """get_budget takes none."""


class CancelTask(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of cancel_task."""

    task: Annotated[TaskId, Meta(description="The id of the task to give up.")]
