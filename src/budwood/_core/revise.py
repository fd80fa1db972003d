"""How tasks join a run, and what an edited plan means for one.

Called by the machine only. Numbers are for ever: a task that the plan lost keeps its own, and what it left stays
readable.
"""

from dataclasses import dataclass, field

from budwood._core.events import PlanRevised
from budwood._core.graph import Graph, batches, build, dependants, paths
from budwood._core.keys import task_key
from budwood._core.model import ENDED_TASK, TaskPhase, TaskSpec
from budwood._core.state import RunState, TaskState


@dataclass(slots=True)
class Revised:
    """What must happen after an edit: these run again, these were done before, these run now on what is not wanted."""

    wanted: list[TaskState] = field(default_factory=list)
    restored: list[TaskState] = field(default_factory=list)
    running: list[TaskState] = field(default_factory=list)


def add_tasks(state: RunState, specs: list[TaskSpec]) -> list[TaskState]:
    """Append tasks in the order given, blocked, with keys and edges in place."""
    added = [_append(state, spec) for spec in specs]
    _draw_graph(state)
    return added


def revise_plan(state: RunState, event: PlanRevised) -> Revised:
    """Apply an edit: a key with a completion is done, whatever else has no completion is wanted again.

    Only what somebody cancelled stays so, unless the edit changed it.
    """
    revised = Revised()
    for task_id in event.removed:
        _remove(state, state.task(task_id), revised)
    for spec in event.changed:
        state.task(spec.id).spec = spec
    before = {task.number: task.key for task in state.tasks if not task.removed}
    gone = {str(task.spec.id): task for task in state.tasks if task.removed}
    for spec in event.added:
        _bring_back(state, gone[str(spec.id)], spec) if str(spec.id) in gone else _append(state, spec)
    state.lanes = list(event.lanes)
    _draw_graph(state)
    for task in state.tasks:
        if not task.removed:
            _sort(state, task, revised, same=task.key == before.get(task.number))
    return revised


def _sort(state: RunState, task: TaskState, revised: Revised, *, same: bool) -> None:
    if task.number in state.open:
        if task.attempt is not None and task.attempt.key != task.key:
            revised.running.append(task)
    elif same and task.phase in (TaskPhase.DONE, TaskPhase.CANCELLED):
        pass
    elif task.key in task.completions:
        revised.restored.append(task)
    else:
        revised.wanted.append(task)


def _append(state: RunState, spec: TaskSpec) -> TaskState:
    task = TaskState(number=len(state.tasks), spec=spec)
    state.tasks.append(task)
    state.by_id[str(spec.id)] = task
    state.counts[TaskPhase.BLOCKED] += 1
    for edges in (state.hard, state.soft, state.dependants, state.soft_dependants):
        edges.append([])
    return task


def _bring_back(state: RunState, task: TaskState, spec: TaskSpec) -> None:
    """Let the plan have a task again that it had lost, with its number and all that it left."""
    task.removed, task.spec = False, spec
    state.by_id[str(spec.id)] = task
    state.counts[task.phase] += 1


def _remove(state: RunState, task: TaskState, revised: Revised) -> None:
    task.removed = True
    state.counts[task.phase] -= 1
    state.touched.tasks.add(task.number)
    state.touched.edges.add(task.number)
    for edges in (state.hard, state.soft, state.dependants, state.soft_dependants):
        edges[task.number] = []
    del state.by_id[str(task.spec.id)]
    if task.number in state.open:
        state.by_id[str(task.spec.id)] = task  # its attempt has still to report its end
        revised.running.append(task)
    elif task.phase not in ENDED_TASK:
        task.phase = TaskPhase.CANCELLED


def _draw_graph(state: RunState) -> None:
    """Rebuild edges, keys and what everything waits for; removed tasks have none."""
    live = [task for task in state.tasks if not task.removed]
    graph = build([task.spec for task in live], state.lanes)
    after, before, rest = dependants(graph.hard), dependants(graph.soft), paths(graph)
    numbers = [task.number for task in live]
    for index, task in enumerate(live):
        number = task.number
        state.hard[number] = [numbers[i] for i in graph.hard[index]]
        state.soft[number] = [numbers[i] for i in graph.soft[index]]
        state.dependants[number] = [numbers[i] for i in after[index]]
        state.soft_dependants[number] = [numbers[i] for i in before[index]]
        task.path = rest[index]
        task.waiting = sum(state.tasks[n].phase is not TaskPhase.DONE for n in state.hard[number])
        task.soft_waiting = sum(state.tasks[n].phase not in ENDED_TASK for n in state.soft[number])
        state.touched.tasks.add(number)
        state.touched.edges.add(number)
    _draw_keys(live, graph)


def _draw_keys(live: list[TaskState], graph: Graph) -> None:
    for batch in batches(graph):
        for index in batch:
            task = live[index]
            task.key = task_key(task.spec, (live[i].key for i in graph.hard[index]))
