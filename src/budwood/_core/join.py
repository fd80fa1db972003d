"""How tasks join a run: only what is new is drawn, so that a strategy may ask a hundred thousand times.

Called by the machine only. Nothing that is there can depend on what comes later, so new tasks change no edge, key or
batch of older ones; only the longest path from these may grow. The one exception are lanes that come one after another:
where such a lane gets tasks, the whole graph is drawn anew.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush

from budwood._core.edges import NOTHING, link
from budwood._core.graph import Graph, batches, build, paths
from budwood._core.keys import task_key
from budwood._core.model import TaskPhase, TaskSpec
from budwood._core.revise import append, count_waiting, draw_graph
from budwood._core.state import RunState, TaskState
from budwood.errors import PlanError


@dataclass(slots=True)
class Joined:
    """The new tasks, blocked, with keys and edges in place; and what they mean for older ones that are ready."""

    added: list[TaskState]
    moved: list[TaskState]
    """These have another rank now: the longest path from them grew."""
    held: list[TaskState] = field(default_factory=list)
    """These have something to wait for again: their lane comes after one that has got tasks."""


@dataclass(slots=True)
class _Part:
    """The new tasks as a graph of their own, behind the older ones that they name, which have no edges in it."""

    older: list[TaskState]
    graph: Graph


def add_tasks(state: RunState, specs: Sequence[TaskSpec], *, ask: int) -> Joined:
    """Append tasks in the order given."""
    part = _draw_part(state, specs)
    added = append(state, specs, ask=ask)
    if part is None:
        moved = draw_graph(state)
        return Joined(added, moved, [task for task in state.tasks if task.phase is TaskPhase.READY and task.waiting])
    _attach(state, [*part.older, *added], part)
    rests = paths(part.graph)
    for task, rest in zip(added, rests[len(part.older) :], strict=True):
        task.path = rest
    return Joined(added, _lengthen(state, zip(part.older, rests, strict=False)))


def change_task(state: RunState, spec: TaskSpec) -> Joined:
    """Give a task that has not begun another definition; the whole graph is drawn anew."""
    task = state.task(spec.id)
    task.spec = spec
    moved = [task, *(each for each in draw_graph(state) if each is not task)]
    live = [each for each in state.tasks if not each.removed]
    held = [each for each in live if each.phase is TaskPhase.READY and each.waiting]
    free = [each for each in live if each.phase is TaskPhase.BLOCKED and not each.waiting]
    return Joined(free, moved, held)


def _draw_part(state: RunState, specs: Sequence[TaskSpec]) -> _Part | None:
    """Check the new tasks by themselves; None if all must be drawn, which also finds the words for what is wrong."""
    if not state.tasks or _comes_in_order(state, specs):
        return None
    own = {str(spec.id) for spec in specs}
    if any(name in state.by_id for name in own):
        return None
    older: dict[str, TaskState] = {}
    for spec in specs:
        for name in map(str, (*spec.after, *spec.prefer_after)):
            task = None if name in own else state.by_id.get(name)
            if task is not None and not task.removed:
                older[name] = task
    stubs = [TaskSpec(id=task.spec.id) for task in older.values()]
    try:
        return _Part(list(older.values()), build([*stubs, *specs], state.lanes if _has_lanes(specs) else ()))
    except PlanError:
        return None


def _has_lanes(specs: Sequence[TaskSpec]) -> bool:
    return any(spec.lane is not None for spec in specs)


def _comes_in_order(state: RunState, specs: Sequence[TaskSpec]) -> bool:
    """Say whether a new task is in a lane that comes after another, or another after it."""
    named = {str(spec.lane) for spec in specs if spec.lane is not None}
    ordered = {str(name) for lane in state.lanes if lane.after for name in (lane.id, *lane.after)} if named else named
    return not named.isdisjoint(ordered)


def _attach(state: RunState, tasks: Sequence[TaskState], part: _Part) -> None:
    """Give the new tasks edges, batches and keys; each batch is done before the next begins."""
    numbers = [task.number for task in tasks]
    first, graph = len(part.older), part.graph
    for index in range(first, len(tasks)):
        number = numbers[index]
        state.hard[number] = [numbers[i] for i in graph.hard[index]] or NOTHING
        state.soft[number] = [numbers[i] for i in graph.soft[index]] or NOTHING
        for before in state.hard[number]:
            link(state.dependants, before, number)
        for before in state.soft[number]:
            link(state.soft_dependants, before, number)
        state.touched.tasks.add(number)
        state.touched.edges.add(number)
    for batch in batches(graph):
        for index in batch:
            if index >= first:
                task, needed = tasks[index], [tasks[i] for i in graph.hard[index]]
                task.batch = 0 if task.spec.errand else max([one.batch for one in needed], default=0) + 1
                task.key = task_key(task.spec, [one.key for one in needed])
                count_waiting(state, task)


def _lengthen(state: RunState, reached: Iterable[tuple[TaskState, int]]) -> list[TaskState]:
    """Let the longest path from older tasks grow, from the highest batch down, so that each is looked at once.

    What is done, and so all that it stands on, is left as it is: only an edited plan can want that again, and then the
    whole graph is drawn. So a chain that grows behind what is done costs no more for being long.
    """
    grown: dict[int, TaskState] = {}
    heap: list[tuple[int, int]] = []

    def reach(task: TaskState, rest: int) -> None:
        if task.path < rest and task.phase is not TaskPhase.DONE:
            task.path = rest
            if task.number not in grown:
                grown[task.number] = task
                heappush(heap, (-task.batch, task.number))

    for task, rest in reached:
        reach(task, rest)
    while heap:
        number = heappop(heap)[1]
        for before in state.hard[number]:
            reach(state.tasks[before], state.tasks[number].path + 1)
    return list(grown.values())
