"""The tools that read: tasks, what an attempt has to know, what is left of the budget.

Every function is given the run at one moment, in the thread that may use the store. Must not write.
"""

import time

import msgspec

from budwood._core.model import ENDED_TASK, TaskId
from budwood._core.rows import TaskRow
from budwood._core.state import AttemptState, RunState, TaskState
from budwood.errors import UsageError
from budwood.mcp.arguments import GetContext, ListTasks
from budwood.mcp.desk import View
from budwood.project.budgets import budgets

Told = dict[str, object]
"""What a tool gives back."""
_MOST_NAMES = 200
_NO_LIMIT_S = 1e9


def list_tasks(view: View, given: ListTasks) -> Told:
    """List tasks in task order."""
    wanted = [task for task in view.store.tasks(view.row.id) if not task.removed and _is_wanted(task, given)]
    shown = wanted[given.first : given.first + given.limit]
    return {
        "run": view.row.name,
        "state": view.row.phase.value,
        "tasks": [_listed(task) for task in shown],
        "found": len(wanted),
        "next": given.first + len(shown) if given.first + len(shown) < len(wanted) else None,
    }


def _is_wanted(task: TaskRow, given: ListTasks) -> bool:
    if given.state is not None and task.phase is not given.state:
        return False
    return given.lane is None or str(task.lane) == str(given.lane)


def _listed(task: TaskRow) -> Told:
    return {
        "task": task.id,
        "state": task.phase.value,
        "description": task.description or task.command,
        "lane": task.lane,
        "priority": task.priority,
        "attempts": task.attempts,
        "because": task.because,
    }


def get_context(view: View, given: GetContext) -> Told:
    """Tell what whoever works on a task has to know."""
    state = view.state()
    run: Told = {"run": state.name, "goal": state.settings.goal, "state": state.phase.value}
    if given.task is None and view.task is None:
        counts = {phase.value: count for phase, count in state.counts.items()}
        return run | {"counts": counts, "lanes": [lane.id for lane in state.lanes]}
    task = _task(state, given.task if given.task is not None else None if view.task is None else view.task.id)
    own = view.task is not None and view.task.number == task.number
    return run | {"lanes": [lane.id for lane in state.lanes], "task": _about(state, task, own=own)}


def _task(state: RunState, name: TaskId | None) -> TaskState:
    task = state.by_id.get(str(name))
    if task is None or task.removed:
        raise UsageError(f"run {state.name} has no task {name}")
    return task


def _about(state: RunState, task: TaskState, *, own: bool) -> Told:
    spec, children = task.spec, [each for each in state.tasks if each.parent == task.number and not each.removed]
    about: Told = {
        "task": spec.id,
        "state": task.phase.value,
        "description": spec.description,
        "action": spec.prompt,
        "command": spec.run,
        "lane": spec.lane,
        "check": spec.check,
        "attempt": task.attempts,
        "depends_on": [_standing(state.tasks[number]) for number in state.hard[task.number][:_MOST_NAMES]],
        "before": [state.tasks[number].spec.id for number in state.dependants[task.number][:_MOST_NAMES]],
        "earlier_attempts": [note._asdict() for note in task.notes],
        "created": [_standing(child) for child in children],
        "created_by": None if task.parent is None else state.tasks[task.parent].spec.id,
        "may_create": may_create(state, task),
    }
    if own and task.attempt is not None:
        left_s = _left_s(task.attempt)
        about["time_left_s"] = None if left_s == _NO_LIMIT_S else round(left_s, 1)
        about["question"] = None if task.attempt.question is None else task.attempt.question._asdict()
    return about


def _standing(task: TaskState) -> Told:
    made = task.made.left.candidate if task.made is not None and task.phase in ENDED_TASK else None
    return {
        "task": task.spec.id,
        "state": task.phase.value,
        "description": task.spec.description,
        "candidate": made,
    }


def may_create(state: RunState, task: TaskState) -> int:
    """Say how many tasks a task may still create."""
    limits = state.settings
    return 0 if task.depth >= limits.mcp_depth else max(0, limits.mcp_fan_out - task.children)


def get_budget(view: View) -> Told:
    """Tell what the run may use, and, inside an attempt, what that may."""
    state = view.state()
    told: Told = {name: msgspec.structs.asdict(each) for name, each in budgets(state, _now_ms()).items()}
    found: Told = {"run": state.name, "budget": told}
    if view.task is not None:
        task = state.tasks[view.task.number]
        left_s = time_left_s(view)
        found["time_left_s"] = None if left_s == _NO_LIMIT_S else round(left_s, 1)
        found["may_create"] = may_create(state, task)
        found["depth"] = {"limit": state.settings.mcp_depth, "used": task.depth}
    return found


def time_left_s(view: View) -> float:
    """Say how much of its time the attempt has left that asks."""
    attempt = None if view.task is None else view.state().tasks[view.task.number].attempt
    if attempt is None:
        raise UsageError("this is for attempts; a person has all the time")
    return _left_s(attempt)


def _left_s(attempt: AttemptState) -> float:
    limit_s = attempt.spec.timeout_s
    if limit_s is None:
        return _NO_LIMIT_S
    begun_ms = attempt.started_at_ms or attempt.queued_at_ms
    return max(0.0, limit_s - (_now_ms() - begun_ms) / 1000)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
