"""What `after` between lanes means for their tasks.

Knows lanes and numbers. Must not know how lanes are merged or scheduled.
"""

from collections.abc import Sequence

from budwood._core import cycles
from budwood._core.edges import Packed, pack
from budwood._core.model import LaneSpec, TaskSpec
from budwood._core.suggest import did_you_mean
from budwood.errors import PlanError

MAX_EDGES = 10_000_000
"""Every first task of a lane waits for every last task of the one before; past this, memory would go first."""


def with_lane_edges(
    hard: Packed, tasks: Sequence[TaskSpec], lanes: Sequence[LaneSpec], *, lane_numbers: dict[str, int]
) -> Packed:
    """Make the first tasks of a lane wait for the last tasks of the lanes it comes after; check every lane id.

    Edges to which that adds nothing are returned as they are.
    """
    members = _members(tasks, lanes, lane_numbers)
    after = [_named(lane, lane_numbers) for lane in lanes]
    if not any(after):
        return hard
    if any(len(group) > 1 for group in cycles.components(after)):
        raise PlanError(
            cycles.describe(after, [lane.id for lane in lanes]) + " (lanes)",
            hint="remove one of these from the after of its lane",
        )
    drawn = hard.lists()
    ends = [_lasts(drawn, group) for group in members]
    new: list[tuple[int, list[int]]] = []
    count = 0
    for lane, group in enumerate(members):
        waited_for = sorted({end for before in _with_tasks(after, lane, members) for end in ends[before]})
        first = _firsts(drawn, group) if waited_for else []
        count += len(first) * len(waited_for)
        if count > MAX_EDGES:
            raise PlanError(
                f"lane {str(lanes[lane].id)!r} has {len(first)} first tasks, each waiting for {len(waited_for)} others",
                hint="put one task between the lanes: after all of the earlier lane, before all of the later one",
            )
        new.extend((number, waited_for) for number in first)
    for number, waited_for in new:
        drawn[number] = list(dict.fromkeys([*drawn[number], *waited_for]))
    return pack(drawn)


def _members(tasks: Sequence[TaskSpec], lanes: Sequence[LaneSpec], numbers: dict[str, int]) -> list[list[int]]:
    members: list[list[int]] = [[] for _ in lanes]
    for number, task in enumerate(tasks):
        if task.lane is None:
            continue
        lane = numbers.get(str(task.lane))
        if lane is None:
            raise PlanError(
                f"task {str(task.id)!r} is in lane {str(task.lane)!r}, but no lane is called that",
                hint=did_you_mean(str(task.lane), numbers) or f'add [[lane]] with id = "{task.lane}"',
            )
        members[lane].append(number)
    return members


def _named(lane: LaneSpec, numbers: dict[str, int]) -> list[int]:
    for name in lane.after:
        if str(name) not in numbers:
            raise PlanError(
                f"lane {str(lane.id)!r} has {str(name)!r} in after, but no lane is called that",
                hint=did_you_mean(str(name), numbers),
            )
        if str(name) == str(lane.id):
            raise PlanError(f"lane {str(lane.id)!r} comes after itself", hint="take its own id out of after")
    return [numbers[str(name)] for name in lane.after]


def _with_tasks(after: Sequence[Sequence[int]], lane: int, members: Sequence[Sequence[int]]) -> list[int]:
    """Follow `after` through lanes that are empty to those that hold tasks."""
    found: list[int] = []
    seen: set[int] = set()
    stack = list(after[lane])
    while stack:
        before = stack.pop()
        if before in seen:
            continue
        seen.add(before)
        if members[before]:
            found.append(before)
        else:
            stack.extend(after[before])
    return found


def _firsts(hard: Sequence[Sequence[int]], group: Sequence[int]) -> list[int]:
    inside = set(group)
    return [number for number in group if inside.isdisjoint(hard[number])]


def _lasts(hard: Sequence[Sequence[int]], group: Sequence[int]) -> list[int]:
    waited_for = {dependency for number in group for dependency in hard[number]}
    return [number for number in group if number not in waited_for]
