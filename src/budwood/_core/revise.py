"""What an edited plan means for a run, and how its graph is drawn as a whole.

Called by the machine, and by `join` where a few tasks cannot be added by themselves. Numbers are for ever: a task that
the plan lost keeps its own, and what it left stays readable.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from budwood._core.edges import NOTHING
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


def revise_plan(state: RunState, event: PlanRevised) -> Revised:
    """Apply an edit: a key with a completion is done, whatever else has no completion is wanted again.

    Only what somebody cancelled stays so, unless the edit changed it.
    """
    revised = Revised()
    for task_id in event.removed:
        _remove(state, state.task(task_id), revised)
    for spec in event.changed:
        changed = state.task(spec.id)
        changed.spec = spec
        changed.ask = 0  # one that was created is the plan's own from now on
    before = {task.number: task.key for task in state.tasks if not task.removed}
    gone = {str(task.spec.id): task for task in state.tasks if task.removed}
    for spec in event.added:
        _bring_back(state, gone[str(spec.id)], spec) if str(spec.id) in gone else append(state, [spec])
    state.lanes = list(event.lanes)
    _forget_wishes(state)
    draw_graph(state)
    for task in state.tasks:
        if not task.removed:
            _sort(state, task, revised, same=task.key == before.get(task.number))
    return revised


def _sort(state: RunState, task: TaskState, revised: Revised, *, same: bool) -> None:
    if task.number in state.open:
        if task.attempt is not None and task.attempt.key != task.key:
            revised.running.append(task)
    elif task.spec.errand is not None and task.phase in ENDED_TASK:
        pass  # it was about what lanes were then; the merge queue asks anew
    elif same and task.phase in (TaskPhase.DONE, TaskPhase.CANCELLED):
        pass
    elif task.tries_until_done(task.key) is not None:
        revised.restored.append(task)
    else:
        revised.wanted.append(task)


def append(state: RunState, specs: Sequence[TaskSpec], *, ask: int = 0) -> list[TaskState]:
    """Give tasks the next numbers; they are blocked and have no edges yet."""
    first = len(state.tasks)
    added = [TaskState(number=number, spec=spec, ask=ask) for number, spec in enumerate(specs, start=first)]
    state.tasks += added
    state.by_id.update((str(task.spec.id), task) for task in added)
    state.counts[TaskPhase.BLOCKED] += len(added)
    for edges in (state.hard, state.soft, state.dependants, state.soft_dependants):
        edges.extend([NOTHING] * len(added))
    return added


def _bring_back(state: RunState, task: TaskState, spec: TaskSpec) -> None:
    """Let the plan have a task again that it had lost, with its number and all that it left."""
    task.removed, task.spec = False, spec
    state.by_id[str(spec.id)] = task
    state.counts[task.phase] += 1


def _forget_wishes(state: RunState) -> None:
    """Let created tasks no longer prefer to come after what the plan has lost; nobody edits those."""
    for task in state.tasks:
        spec = task.spec
        if task.is_created and not task.removed and spec.prefer_after:
            there = (name for name in spec.prefer_after if str(name) in state.by_id and not state.task(name).removed)
            task.spec = msgspec.structs.replace(spec, prefer_after=tuple(there))


def _remove(state: RunState, task: TaskState, revised: Revised) -> None:
    task.removed = True
    state.counts[task.phase] -= 1
    state.touched.tasks.add(task.number)
    state.touched.edges.add(task.number)
    for edges in (state.hard, state.soft, state.dependants, state.soft_dependants):
        edges[task.number] = NOTHING
    del state.by_id[str(task.spec.id)]
    if task.number in state.open:
        state.by_id[str(task.spec.id)] = task  # its attempt has still to report its end
        revised.running.append(task)
    elif task.phase not in ENDED_TASK:
        task.phase = TaskPhase.CANCELLED


def draw_graph(state: RunState) -> list[TaskState]:
    """Draw edges, keys and what all wait for anew; removed tasks have none. Return whose rank changed by it."""
    live = [task for task in state.tasks if not task.removed]
    graph = build([task.spec for task in live], state.lanes)
    _take_edges(state, live, graph)
    changed = []
    for task, rest in zip(live, paths(graph), strict=True):
        before = task.path, task.soft_waiting
        task.path = rest
        count_waiting(state, task)
        if (rest, task.soft_waiting) != before:
            changed.append(task)
        state.touched.tasks.add(task.number)
        state.touched.edges.add(task.number)
    _draw_keys(live, graph)
    return changed


def count_waiting(state: RunState, task: TaskState) -> None:
    """Count what a task waits for."""
    tasks, hard, soft = state.tasks, state.hard[task.number], state.soft[task.number]
    task.waiting = sum([tasks[n].phase is not TaskPhase.DONE for n in hard]) if hard else 0
    task.soft_waiting = sum([tasks[n].phase not in ENDED_TASK for n in soft]) if soft else 0


def _take_edges(state: RunState, live: list[TaskState], graph: Graph) -> None:
    """Translate the graph's numbers, which leave out removed tasks, to the run's."""
    drawn = (graph.hard.lists(), graph.soft, dependants(graph.hard), dependants(graph.soft))
    if len(live) == len(state.tasks):
        state.hard, state.soft, state.dependants, state.soft_dependants = drawn
        return
    numbers = [task.number for task in live]
    for edges, new in zip((state.hard, state.soft, state.dependants, state.soft_dependants), drawn, strict=True):
        for number, given in zip(numbers, new, strict=True):
            edges[number] = [numbers[i] for i in given] if given else NOTHING


def _draw_keys(live: list[TaskState], graph: Graph) -> None:
    for number, batch in enumerate(batches(graph), start=1):
        for index in batch:
            task = live[index]
            task.batch = 0 if task.spec.errand else number
            task.key = task_key(task.spec, [live[i].key for i in graph.hard[index]])
