"""Who comes after whom, to be looked at and drawn: of a plan, or of a run's tasks.

Knows plans. Must not know stores or drivers.
"""

from collections.abc import Iterable, Sequence

from budwood._core.graph import batches, build, critical_path
from budwood._core.model import LaneSpec, TaskId, TaskSpec
from budwood.errors import UsageError
from budwood.plans import Plan
from budwood.plans import to_ascii as draw_ascii
from budwood.plans import to_mermaid as draw_mermaid
from budwood.plans.draw import WIDTH


class Graph:
    """Tasks and their dependencies; one that cannot be followed raises PlanError when it is made."""

    def __init__(self, tasks: Sequence[TaskSpec], lanes: Sequence[LaneSpec] = (), *, source: str = "the plan") -> None:
        self._plan = Plan(tasks=tuple(tasks), lanes=lanes_of(lanes, tasks), path=source)
        self._graph = build(self._plan.tasks, self._plan.lanes)

    @property
    def tasks(self) -> list[TaskId]:
        """The ids of all tasks, in task order."""
        return list(self._graph.ids)

    @property
    def batches(self) -> list[list[TaskId]]:
        """Ids by batch: each depends only on those before it."""
        return [[self._graph.ids[number] for number in numbers] for numbers in batches(self._graph)]

    @property
    def longest_path(self) -> list[TaskId]:
        """The ids on one longest path from first to last."""
        return [self._graph.ids[number] for number in critical_path(self._graph)]

    def to_mermaid(self, *, lane: TaskId | None = None, batch: int | None = None) -> str:
        """Draw a Mermaid flowchart, of all or of one lane or batch; batches count from 1."""
        _refuse_no_number(batch=batch)
        return draw_mermaid(self._graph, self._plan, lane=lane, batch=batch)

    def to_ascii(self, *, lane: TaskId | None = None, batch: int | None = None, width: int = WIDTH) -> str:
        """Write the batches as text, and after each task what it waits for."""
        _refuse_no_number(batch=batch, width=width)
        return draw_ascii(self._graph, self._plan, lane=lane, batch=batch, width=width)


def _refuse_no_number(**given: object) -> None:
    for name, value in given.items():
        if value is not None and type(value) is not int:
            raise UsageError(f"{name} is {value!r}; it takes a whole number")


def lanes_of(given: Sequence[LaneSpec], tasks: Iterable[TaskSpec]) -> tuple[LaneSpec, ...]:
    """Return the lanes; where none is given, those that the tasks name, in their order."""
    named = {str(task.lane): task.lane for task in tasks if task.lane is not None}
    return tuple(given) or tuple(LaneSpec(id=lane) for lane in named.values())
