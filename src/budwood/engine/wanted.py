"""What requests of agents say beside their kind, and who asks.

Knows plain values, which travel as JSON. Must not know what becomes of them.
"""

from msgspec import Struct

from budwood._core.events import Event
from budwood._core.model import TaskId
from budwood._core.state import AttemptState, RunState, TaskState
from budwood.engine.refusal import Refusal
from budwood.stores.base import Asker

Done = tuple[list[Event], str]
"""What a request becomes, and the answer to it."""
TITLE_CHARS = 500
"""Of a description, and of a report of progress."""
TEXT_CHARS = 100_000
"""Of what a task is to do, of a question, of an answer."""
EVERY_MS = 1000
"""Of one attempt, at most one report of progress in this time is kept."""


class _Wanted(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    by: Asker | None = None
    """None: a person."""


class NewTask(_Wanted, frozen=True):
    """A task that is to join."""

    description: str
    prompt: str = ""
    run: str | None = None
    id: str | None = None
    lane: TaskId | None = None
    after: tuple[TaskId, ...] = ()
    prefer_after: tuple[TaskId, ...] = ()
    priority: int = 0
    agent: str | None = None
    model: str | None = None


class ChangedTask(_Wanted, frozen=True):
    """What is to be different about a task; None is as it was."""

    task: TaskId
    description: str | None = None
    prompt: str | None = None
    run: str | None = None
    after: tuple[TaskId, ...] | None = None
    prefer_after: tuple[TaskId, ...] | None = None
    priority: int | None = None


class Asking(_Wanted, frozen=True):
    """A question of an attempt."""

    text: str


class Answering(_Wanted, frozen=True):
    """An answer to what the attempt at a task asks."""

    task: TaskId
    text: str


class Reporting(_Wanted, frozen=True):
    """How far an attempt has come."""

    text: str
    percent: float | None = None


def find_task(state: RunState, name: TaskId) -> TaskState:
    """Return a task of the run by its id."""
    task = state.by_id.get(str(name))
    if task is None or task.removed:
        raise Refusal(f"run {state.name} has no task {name}")
    return task


def asking_task(state: RunState, by: Asker) -> TaskState:
    """Return the task whose attempt asks; that may have ended since, while nobody was there to answer it."""
    task = find_task(state, by.task)
    if not 1 <= by.attempt <= task.attempts:
        raise Refusal(f"task {by.task} has had no attempt {by.attempt}")
    return task


def open_attempt(state: RunState, by: Asker | None) -> tuple[TaskState, AttemptState]:
    """Return the attempt that asks, for what is of use only while it runs."""
    if by is None:
        raise Refusal("only an attempt that runs can ask for that")
    task = find_task(state, by.task)
    if task.attempt is None or task.attempt.number != by.attempt:
        raise Refusal(f"attempt {by.attempt} at task {by.task} has ended")
    return task, task.attempt


def refuse_others(state: RunState, by: Asker | None, task: TaskState) -> None:
    """Refuse an attempt that wants something of a task that neither it nor a task of its own making has created."""
    if by is None:
        return
    asker = asking_task(state, by)
    maker = task.parent
    while maker is not None and maker != asker.number:
        maker = state.tasks[maker].parent
    if maker is None:
        raise Refusal(f"task {task.spec.id} was not created by task {by.task}, which may not touch it")


def refuse_long(text: str, *, what: str, most: int) -> None:
    """Refuse what nobody would read."""
    if len(text) > most:
        raise Refusal(f"{what} has {len(text)} characters; at most {most} are kept")
    if "\0" in text:
        raise Refusal(f"{what} has a NUL character in it")
