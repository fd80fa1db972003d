"""What somebody asks of a run, turned into events or a refusal.

One function per kind of request: it looks at the state and says what is to be recorded. Must not know who asked, or
how.
"""

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import msgspec

from budwood._core.events import (
    Event,
    External,
    MergeAsked,
    RequestRefused,
    RequestTaken,
    RunPaused,
    RunResumed,
    TaskReviewed,
    TaskRevised,
    TasksCancelled,
    TasksRetried,
)
from budwood._core.model import ENDED_RUN, ENDED_TASK, Review, RunPhase, TaskId, TaskPhase
from budwood._core.state import Made, RunState, TaskState
from budwood.engine.journal import Journal
from budwood.stores.base import Answer, Request, RequestBody

_WANTED_AGAIN = (TaskPhase.FAILED, TaskPhase.CANCELLED, TaskPhase.SKIPPED)


Decision = Literal["approved", "rejected", "merged"]


class Wish(NamedTuple):
    """What a request is about."""

    tasks: list[TaskState]
    text: str = ""


class _Refusal(Exception):
    """The request cannot be done; the text says why."""


def take_request(journal: Journal, request: Request) -> None:
    """Do what a request asks, or refuse it; either way it is answered in the same commit."""
    try:
        events, text = _answer(journal.state, request)
    except _Refusal as refusal:
        journal.record(RequestRefused(request=request.id, kind=request.kind, reason=str(refusal)))
        journal.answer(Answer(request=request.id, state="refused", text=str(refusal)))
        return
    journal.record(RequestTaken(request=request.id, kind=request.kind, detail=text))
    for event in events:
        journal.record(event)
    journal.answer(Answer(request=request.id, state="taken", text=text))


def _answer(state: RunState, request: Request) -> tuple[list[Event], str]:
    act = _KINDS.get(request.kind)
    if act is None:
        raise _Refusal(f"a run does not understand {request.kind!r}")
    return act(state, _read_wish(state, request.body))


def _read_wish(state: RunState, body: str) -> Wish:
    if not body:
        return Wish([])
    try:
        wish = msgspec.json.decode(body, type=RequestBody | list[TaskId])
    except msgspec.MsgspecError as error:
        raise _Refusal(f"a request names tasks as a JSON list of ids ({error})") from error
    if isinstance(wish, list):
        return Wish(_named_tasks(state, wish))
    return Wish(_named_tasks(state, wish.tasks) if wish.tasks else [], wish.text)


def _named_tasks(state: RunState, ids: Sequence[TaskId]) -> list[TaskState]:
    if not ids:
        raise _Refusal("a request for some tasks names none")
    unknown = [task_id for task_id in ids if str(task_id) not in state.by_id or state.task(task_id).removed]
    if unknown:
        raise _Refusal(f"run {state.name} has no task {unknown[0]}")
    return list({state.task(task_id).number: state.task(task_id) for task_id in ids}.values())


def _pause(state: RunState, _: Wish) -> tuple[list[Event], str]:
    if state.phase in ENDED_RUN:
        raise _Refusal(f"run {state.name} is {state.phase.value}")
    if state.phase is RunPhase.PAUSED:
        return [], f"run {state.name} was paused already"
    events: list[Event] = [External(cause="pause"), RunPaused(kind="person", reason="paused by request")]
    running = len(state.open)
    may = f"{running} running, {'it' if running == 1 else 'they'} may finish" if running else "nothing runs"
    return events, f"paused; {may}"


def _resume(state: RunState, _: Wish) -> tuple[list[Event], str]:
    if state.phase is not RunPhase.PAUSED:
        raise _Refusal(f"run {state.name} is {state.phase.value}, not paused")
    return [RunResumed()], "goes on"


def _cancel(state: RunState, wish: Wish) -> tuple[list[Event], str]:
    tasks = wish.tasks
    if state.phase in ENDED_RUN:
        raise _Refusal(f"run {state.name} is {state.phase.value}")
    wanted = tasks or [task for task in state.tasks if not task.removed]
    ids = tuple(task.spec.id for task in wanted if task.phase not in ENDED_TASK and not task.cancelling)
    if tasks and not ids:
        raise _Refusal(f"task {tasks[0].spec.id} has ended: {tasks[0].phase.value}")
    events: list[Event] = [External(cause="cancel", task=task.spec.id) for task in tasks] or [External(cause="cancel")]
    events.append(TasksCancelled(tasks=ids, whole_run=not tasks))
    return events, f"tasks cancelled: {len(ids)}"


def _retry(state: RunState, wish: Wish) -> tuple[list[Event], str]:
    tasks = wish.tasks
    events: list[Event] = [External(cause="retry", task=task.spec.id) for task in tasks] or [External(cause="retry")]
    if not tasks:
        tasks = [task for task in state.tasks if task.phase in _WANTED_AGAIN and not task.removed]
        if not tasks:
            raise _Refusal(f"run {state.name} has no failed, cancelled or skipped task")
    for task in tasks:
        if task.phase not in _WANTED_AGAIN:
            raise _Refusal(
                f"task {task.spec.id} is {task.phase.value}; only what failed, was cancelled or skipped can be retried"
            )
    ids = tuple(state.tasks[number].spec.id for number in _with_relatives(state, tasks))
    events.append(TasksRetried(tasks=ids))
    return events, f"tasks wanted again: {len(ids)}"


def _with_relatives(state: RunState, tasks: list[TaskState]) -> list[int]:
    """Add what must run first (unmet dependencies) and what was skipped because of these."""
    found: set[int] = set()
    stack = [task.number for task in tasks]
    while stack:
        number = stack.pop()
        if number in found or state.tasks[number].phase not in _WANTED_AGAIN:
            continue
        found.add(number)
        stack += state.hard[number]
        stack += (n for n in state.dependants[number] if state.tasks[n].phase is TaskPhase.SKIPPED)
    return sorted(found)


def _decide(state: RunState, wish: Wish, decision: Decision) -> tuple[list[Event], str]:
    if not wish.tasks:
        raise _Refusal("a decision names its tasks")
    events: list[Event] = []
    for task in wish.tasks:
        made = _candidate(task, decision)
        if made is None:
            raise _Refusal(f"task {task.spec.id} has no candidate to decide about: it is {task.phase.value}")
        if not made.left.files:
            raise _Refusal(f"task {task.spec.id} changed nothing: there is nothing to decide about")
        if task.review is Review.MERGED and decision != "merged":
            raise _Refusal(f"what task {task.spec.id} made is merged already")
        events.append(External(cause=decision, task=task.spec.id))
        events.append(TaskReviewed(task=task.spec.id, attempt=made.attempt, decision=decision, text=wish.text))
    return events, f"{decision}: {', '.join(str(task.spec.id) for task in wish.tasks)}"


def _candidate(task: TaskState, decision: Decision) -> Made | None:
    """Return what is decided about; what an attempt left that did not succeed can be rejected, and no more."""
    if task.phase is TaskPhase.DONE:
        return task.made
    return task.last if decision == "rejected" and task.phase in ENDED_TASK else None


def _revise(state: RunState, wish: Wish) -> tuple[list[Event], str]:
    if len(wish.tasks) != 1:
        raise _Refusal("a revision names one task")
    (task,) = wish.tasks
    if task.last is None or not task.spec.agent:
        raise _Refusal(f"no agent has left anything for task {task.spec.id} that could be revised")
    if task.phase not in ENDED_TASK:
        raise _Refusal(f"task {task.spec.id} is {task.phase.value}; only what has ended can be revised")
    if not wish.text.strip():
        raise _Refusal("a revision says what is wanted")
    events: list[Event] = [External(cause="revise", task=task.spec.id)]
    events.append(TaskRevised(task=task.spec.id, attempt=task.last.attempt, text=wish.text))
    return events, f"task {task.spec.id} goes on from attempt {task.last.attempt}"


def _merge(state: RunState, wish: Wish) -> tuple[list[Event], str]:
    try:
        wanted = msgspec.json.decode(wish.text, type=MergeAsked)
    except msgspec.MsgspecError as error:
        raise _Refusal(f"a request to merge says how ({error})") from error
    if state.settings.workspace is None:
        raise _Refusal(f"run {state.name} has no workspaces, and so nothing to merge")
    return [External(cause="merge"), wanted], "finished lanes are merged when every task has ended"


_KINDS: dict[str, Callable[[RunState, Wish], tuple[list[Event], str]]] = {
    "pause": _pause,
    "resume": _resume,
    "cancel": _cancel,
    "retry": _retry,
    "approve": lambda state, wish: _decide(state, wish, "approved"),
    "reject": lambda state, wish: _decide(state, wish, "rejected"),
    "merged": lambda state, wish: _decide(state, wish, "merged"),
    "revise": _revise,
    "merge": _merge,
}
