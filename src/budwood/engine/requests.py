"""What somebody asks of a run, turned into events or a refusal.

One function per kind of request: it looks at the state and says what is to be recorded. Must not know who asked, or
how.
"""

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, TypeVar

import msgspec

from budwood._core.choice import competes
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
from budwood._core.landing import matters
from budwood._core.model import ENDED_RUN, ENDED_TASK, Review, RunPhase, TaskId, TaskPhase
from budwood._core.state import Made, RunState, TaskState
from budwood.engine.creating import create, update
from budwood.engine.journal import Journal
from budwood.engine.refusal import Refusal
from budwood.engine.speaking import answer, ask, report
from budwood.engine.wanted import Answering, Asking, ChangedTask, Done, NewTask, Reporting, refuse_others
from budwood.stores.base import Answer, Asker, Request, RequestBody

_WANTED_AGAIN = (TaskPhase.FAILED, TaskPhase.CANCELLED, TaskPhase.SKIPPED)


Decision = Literal["approved", "rejected", "merged"]


class Wish(NamedTuple):
    """What a request is about."""

    tasks: list[TaskState]
    text: str = ""
    by: Asker | None = None


_UNTOLD = frozenset({"progress"})
"""Requests that come too often to be told of beside what they bring about."""
Act = Callable[[RunState, str, int], Done]
"""Does what a request's body says, at a time."""
Body = TypeVar("Body", bound=msgspec.Struct)


def take_request(journal: Journal, request: Request) -> None:
    """Do what a request asks, or refuse it; either way it is answered in the same commit."""
    told = request.kind not in _UNTOLD
    try:
        events, text = _answer(journal, request)
    except Refusal as refusal:
        if told:
            journal.record(RequestRefused(request=request.id, kind=request.kind, reason=str(refusal)))
        journal.answer(Answer(request=request.id, state="refused", text=str(refusal)))
        return
    if told:
        journal.record(RequestTaken(request=request.id, kind=request.kind, detail=text))
    for event in events:
        journal.record(event)
    journal.answer(Answer(request=request.id, state="taken", text=text))


def _answer(journal: Journal, request: Request) -> Done:
    act = _KINDS.get(request.kind)
    if act is None:
        raise Refusal(f"a run does not understand {request.kind!r}")
    return act(journal.state, request.body, journal.now_ms)


def _wishing(act: Callable[[RunState, Wish], Done]) -> Act:
    return lambda state, body, _: act(state, _read_wish(state, body))


def _reading(form: type[Body], act: Callable[[RunState, Body, int], Done]) -> Act:
    def read(state: RunState, body: str, now_ms: int) -> Done:
        try:
            wanted = msgspec.json.decode(body, type=form)
        except msgspec.MsgspecError as error:
            raise Refusal(f"the request cannot be understood: {error}") from error
        return act(state, wanted, now_ms)

    return read


def _read_wish(state: RunState, body: str) -> Wish:
    if not body:
        return Wish([])
    try:
        wish = msgspec.json.decode(body, type=RequestBody | list[TaskId])
    except msgspec.MsgspecError as error:
        raise Refusal(f"a request names tasks as a JSON list of ids ({error})") from error
    if isinstance(wish, list):
        return Wish(_named_tasks(state, wish))
    return Wish(_named_tasks(state, wish.tasks), wish.text, wish.by)


def _named_tasks(state: RunState, ids: Sequence[TaskId]) -> list[TaskState]:
    if not ids:
        raise Refusal("a request for some tasks names none")
    unknown = [task_id for task_id in ids if str(task_id) not in state.by_id or state.task(task_id).removed]
    if unknown:
        raise Refusal(f"run {state.name} has no task {unknown[0]}")
    return list({state.task(task_id).number: state.task(task_id) for task_id in ids}.values())


def _pause(state: RunState, _: Wish) -> Done:
    if state.phase in ENDED_RUN:
        raise Refusal(f"run {state.name} is {state.phase.value}")
    if state.phase is RunPhase.PAUSED:
        return [], f"run {state.name} was paused already"
    events: list[Event] = [External(cause="pause"), RunPaused(kind="person", reason="paused by request")]
    running = len(state.open)
    may = f"{running} running, {'it' if running == 1 else 'they'} may finish" if running else "nothing runs"
    return events, f"paused; {may}"


def _resume(state: RunState, _: Wish) -> Done:
    if state.phase is not RunPhase.PAUSED:
        raise Refusal(f"run {state.name} is {state.phase.value}, not paused")
    return [RunResumed()], "goes on"


def _cancel(state: RunState, wish: Wish) -> Done:
    tasks = wish.tasks
    if state.phase in ENDED_RUN:
        raise Refusal(f"run {state.name} is {state.phase.value}")
    for task in tasks:
        refuse_others(state, wish.by, task)
    wanted = tasks or [task for task in state.tasks if not task.removed]
    ids = tuple(task.spec.id for task in wanted if task.phase not in ENDED_TASK and not task.cancelling)
    if tasks and not ids:
        raise Refusal(f"task {tasks[0].spec.id} has ended: {tasks[0].phase.value}")
    events: list[Event] = [External(cause="cancel", task=task.spec.id) for task in tasks] or [External(cause="cancel")]
    events.append(TasksCancelled(tasks=ids, whole_run=not tasks))
    return events, f"tasks cancelled: {len(ids)}"


def _retry(state: RunState, wish: Wish) -> Done:
    tasks = wish.tasks
    events: list[Event] = [External(cause="retry", task=task.spec.id) for task in tasks] or [External(cause="retry")]
    if not tasks:
        lost = (task for task in state.tasks if task.phase in _WANTED_AGAIN and not task.removed)
        tasks = [task for task in lost if matters(state, task)]
        if not tasks and not state.landing.held:
            raise Refusal(f"run {state.name} has no failed, cancelled or skipped task")
    for task in tasks:
        if task.phase not in _WANTED_AGAIN:
            raise Refusal(
                f"task {task.spec.id} is {task.phase.value}; only what failed, was cancelled or skipped can be retried"
            )
    ids = tuple(state.tasks[number].spec.id for number in _with_relatives(state, tasks))
    events.append(TasksRetried(tasks=ids))
    return events, f"tasks wanted again: {len(ids)}" if ids else "what is broken is merged again"


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


def _decide(state: RunState, wish: Wish, decision: Decision) -> Done:
    if not wish.tasks:
        raise Refusal("a decision names its tasks")
    events: list[Event] = []
    for task in wish.tasks:
        made = _candidate(task, decision)
        if made is None:
            raise Refusal(f"task {task.spec.id} has no candidate to decide about: it is {task.phase.value}")
        if task.spec.helps:
            raise Refusal(f"task {task.spec.id} only helps the search: what it left is no candidate")
        if not made.left.files and not (task.spec.after and competes(state, task)):  # what was merged is a change, too
            raise Refusal(f"task {task.spec.id} changed nothing: there is nothing to decide about")
        if task.review is Review.MERGED and decision != "merged":
            raise Refusal(f"what task {task.spec.id} made is merged already")
        events.append(External(cause=decision, task=task.spec.id))
        events.append(TaskReviewed(task=task.spec.id, attempt=made.attempt, decision=decision, text=wish.text))
    return events, f"{decision}: {', '.join(str(task.spec.id) for task in wish.tasks)}"


def _candidate(task: TaskState, decision: Decision) -> Made | None:
    """Return what is decided about; what an attempt left that did not succeed can be rejected, and no more."""
    if task.phase is TaskPhase.DONE:
        return task.made
    return task.last if decision == "rejected" and task.phase in ENDED_TASK else None


def _revise(state: RunState, wish: Wish) -> Done:
    if len(wish.tasks) != 1:
        raise Refusal("a revision names one task")
    (task,) = wish.tasks
    if task.last is None or not task.spec.agent:
        raise Refusal(f"no agent has left anything for task {task.spec.id} that could be revised")
    if task.phase not in ENDED_TASK:
        raise Refusal(f"task {task.spec.id} is {task.phase.value}; only what has ended can be revised")
    if not wish.text.strip():
        raise Refusal("a revision says what is wanted")
    events: list[Event] = [External(cause="revise", task=task.spec.id)]
    events.append(TaskRevised(task=task.spec.id, attempt=task.last.attempt, text=wish.text))
    return events, f"task {task.spec.id} goes on from attempt {task.last.attempt}"


def _merge(state: RunState, wanted: MergeAsked, _: int) -> Done:
    if state.settings.workspace is None:
        raise Refusal(f"run {state.name} has no workspaces, and so nothing to merge")
    return [External(cause="merge"), wanted], "finished lanes are merged when every task has ended"


_KINDS: dict[str, Act] = {
    "pause": _wishing(_pause),
    "resume": _wishing(_resume),
    "cancel": _wishing(_cancel),
    "retry": _wishing(_retry),
    "approve": _wishing(lambda state, wish: _decide(state, wish, "approved")),
    "reject": _wishing(lambda state, wish: _decide(state, wish, "rejected")),
    "merged": _wishing(lambda state, wish: _decide(state, wish, "merged")),
    "revise": _wishing(_revise),
    "merge": _reading(MergeAsked, _merge),
    "create": _reading(NewTask, create),
    "update": _reading(ChangedTask, update),
    "ask": _reading(Asking, ask),
    "answer": _reading(Answering, answer),
    "progress": _reading(Reporting, report),
}
