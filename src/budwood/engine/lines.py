"""Which lines of history are to be merged, in which groups and in which order.

Pure: from the state alone, never from who finished first, unless the run asks for that. Knows the state; must not know
git.
"""

from collections.abc import Iterable
from heapq import heapify, heappop, heappush

from budwood._core.candidates import is_undone
from budwood._core.choice import choice, competes
from budwood._core.cycles import components
from budwood._core.landing import members, stands_on
from budwood._core.model import Review, TaskPhase
from budwood._core.state import RunState, TaskState


def groups_to_merge(state: RunState, *, partial: bool) -> list[tuple[str, ...]]:
    """List what can be merged now: lines that took from each other as one, what they stand on before them."""
    lines = _wanted_lines(state)
    names = list(lines)
    needs = _needs(state, lines)
    groups = sorted(sorted(group) for group in components(needs))
    group_of = {line: place for place, group in enumerate(groups) for line in group}
    needs_of = [
        sorted({group_of[other] for line in group for other in needs[line]} - {place})
        for place, group in enumerate(groups)
    ]
    ranks = _ranks(state, names, groups)
    refused: set[int] = set()
    found: list[tuple[str, ...]] = []
    for place in _in_order(needs_of, ranks):
        inside = [names[line] for line in groups[place]]
        if not refused.isdisjoint(needs_of[place]) or any(
            _is_out(state, line, _tasks(state, lines[line]), partial=partial) for line in inside
        ):
            refused.add(place)
            continue
        new = tuple(line for line in inside if line in state.heads and not _is_merged(state, line))
        if new:
            found.append(new)
    return found


def waits_behind(state: RunState, line: str) -> list[str]:
    """List the lines that this one stands on, and that are not merged as they stand."""
    landing = state.landing
    return [other for other in stands_on(state, line) if landing.merged.get(other) != state.heads.get(other)]


def _wanted_lines(state: RunState) -> dict[str, list[int]]:
    """List the lines of history that may be merged: of those that compete only the one that was chosen.

    What that grew from comes with it, as it is in its history.
    """
    found = choice(state)
    chosen = None if found is None else found.task.number
    return {
        line: numbers
        for line, numbers in members(state).items()
        if chosen in numbers or not any(competes(state, state.tasks[number]) for number in numbers)
    }


def _needs(state: RunState, lines: dict[str, list[int]]) -> list[list[int]]:
    """Say of every line which others its tasks stand on."""
    line_of = {number: place for place, numbers in enumerate(lines.values()) for number in numbers}
    found = []
    for place, numbers in enumerate(lines.values()):
        others = {line_of[other] for number in numbers for other in state.hard[number] if other in line_of}
        found.append(sorted(others - {place}))
    return found


def _ranks(state: RunState, names: list[str], groups: list[list[int]]) -> list[int]:
    if state.settings.merge_order == "plan":
        return [min(group) for group in groups]
    finished = {line: place for place, line in enumerate(state.heads)}
    return [max(finished.get(names[line], -1) for line in group) for group in groups]


def _in_order(needs_of: list[list[int]], ranks: list[int]) -> Iterable[int]:
    """Go through groups: what one needs comes before it; among those that could be next, the lowest rank."""
    waits = [len(needs) for needs in needs_of]
    after: list[list[int]] = [[] for _ in needs_of]
    for place, needs in enumerate(needs_of):
        for other in needs:
            after[other].append(place)
    ready = [(ranks[place], place) for place, count in enumerate(waits) if count == 0]
    heapify(ready)
    while ready:
        place = heappop(ready)[1]
        yield place
        for other in after[place]:
            waits[other] -= 1
            if waits[other] == 0:
                heappush(ready, (ranks[other], other))


def _tasks(state: RunState, numbers: Iterable[int]) -> list[TaskState]:
    return [state.tasks[number] for number in numbers]


def _is_out(state: RunState, line: str, tasks: list[TaskState], *, partial: bool) -> bool:
    """Say whether a line is not to be merged: not finished, rejected, sent back, in conflict, or held as it stands."""
    if any(task.review is Review.REJECTED or is_undone(task) for task in tasks):
        return True
    if not partial and any(task.phase is not TaskPhase.DONE for task in tasks):
        return True
    landing, head = state.landing, state.heads.get(line)
    waits = (landing.clashes.get(line), landing.conflicts.get(line), landing.held.get(line))
    return any(each is not None and each.head == head for each in waits)


def _is_merged(state: RunState, line: str) -> bool:
    return state.landing.merged.get(line) == state.heads[line]
