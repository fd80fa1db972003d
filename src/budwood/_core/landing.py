"""What the merge queue's events mean for the state.

Called by the machine only, so that replay gives the same. Knows the state; must not know git: a commit is a name.
"""

from budwood._core import events as e
from budwood._core.candidates import is_about, lane_of, stands_at
from budwood._core.commands import Command
from budwood._core.model import ENDED_TASK, Review, TaskPhase
from budwood._core.state import RunState, TaskState

_LOST = ENDED_TASK - {TaskPhase.DONE}


def asked(state: RunState, event: e.MergeAsked) -> None:
    """Begin anew: what was broken may be wanted now, and what did not pass is tried again."""
    state.landing.asked = event
    if event.resolve:  # whoever could not solve it before, these have not tried
        resolves = state.landing.resolves
        for key in [key for key, number in resolves.items() if state.tasks[number].phase in _LOST]:
            del resolves[key]
    begin_again(state)


def begin_again(state: RunState) -> None:
    """Let what was broken be wanted again, and what did not pass be verified again where it still matters."""
    verifies = state.landing.verifies
    for commit in [commit for commit, number in verifies.items() if state.tasks[number].phase in _LOST]:
        del verifies[commit]
    state.landing.held.clear()
    forget_joins(state)


def matters(state: RunState, task: TaskState) -> bool:
    """Say whether somebody who wants again what failed wants this: not what an earlier state of lanes needed.

    What is to be verified again the merge queue asks for anew.
    """
    errand = task.spec.errand
    if errand is None:
        return True
    return errand.line in state.landing.conflicts and is_about(state, task)


def verify_anew(state: RunState) -> None:
    """Forget what was verified: that was by another command."""
    state.landing.verifies.clear()
    begin_again(state)


def forget_joins(state: RunState) -> None:
    """Forget what was merged and is in no branch: what it was made of is not wanted any more."""
    state.landing.joins.clear()
    state.landing.clashes.clear()
    state.landing.stopped = None


def forget_unwanted(state: RunState) -> None:
    """Wait for nobody because of lines that are not wanted any more: out of the plan, or rejected."""
    waiting = (state.landing.clashes, state.landing.conflicts, state.landing.held)
    if not any(waiting):
        return
    wanted = {
        line
        for line, numbers in members(state).items()
        if not any(state.tasks[number].review is Review.REJECTED for number in numbers)
    }
    for waits in waiting:
        for line in waits.keys() - wanted:
            del waits[line]


def joined(state: RunState, event: e.LanesJoined) -> None:
    """Note what came of merging; where nothing could be merged, only the conflicts are left."""
    landing = state.landing
    landing.joins[event.lines] = event
    if not event.joints:
        landing.clashes.update((clash.line, clash) for clash in event.clashes)


def errand_added(state: RunState, event: e.ErrandAdded, number: int) -> None:
    """Note which task does what."""
    errand = event.task.errand
    assert errand is not None
    if errand.kind == "verify":
        state.landing.verifies[errand.start] = number
    else:
        state.landing.resolves[errand.line, state.heads[errand.line]] = number


def merged(state: RunState, event: e.LanesMerged) -> None:
    """Note what is in the run's branch."""
    landing = state.landing
    join = next((join for join in landing.joins.values() if join.commit == event.commit), None)
    landing.clashes.clear()  # those of before are merged with what is new before anybody is asked
    if join is not None:
        landing.clashes.update((clash.line, clash) for clash in join.clashes)
        landing.shadow = join.joints[-1].shadow or event.commit if join.joints else landing.shadow
    landing.merged.update(event.lines)
    for line, _ in event.lines:
        landing.conflicts.pop(line, None)  # one whose directory is gone may have no conflict any more
    landing.commit, landing.branch = event.commit, event.branch
    if event.into:
        landing.delivered[event.into] = event.commit
    landing.joins.clear()
    landing.stopped, landing.moved = None, 0
    for task_id in event.tasks:
        task = state.task(task_id)
        task.review = Review.MERGED
        state.touched.tasks.add(task.number)


def target_moved(state: RunState) -> None:
    """Merge again."""
    state.landing.joins.clear()
    state.landing.moved += 1


def stopped(state: RunState, event: e.MergeStopped) -> None:
    """Let the merge queue rest; who tries again later counts anew."""
    state.landing.stopped, state.landing.moved = event, 0


def held(state: RunState, event: e.LaneHeld) -> None:
    """Leave a line out from here on."""
    state.landing.held[event.line] = event


def conflicted(state: RunState, event: e.LaneConflicted) -> None:
    """Wait for somebody."""
    state.landing.clashes.pop(event.line, None)
    state.landing.conflicts[event.line] = event


def resolved(state: RunState, event: e.LaneResolved, commands: list[Command]) -> None:
    """Let a line stand where its conflicts are solved."""
    stands_at(state, event.line, event.commit, commands)


def ended(state: RunState) -> None:
    """Take the wish to merge for done, unless something of it waits for somebody."""
    landing = state.landing
    if not (landing.waits_for_somebody or landing.held):
        landing.asked = None


def members(state: RunState) -> dict[str, list[int]]:
    """List the numbers of the tasks in every line of history, in the order of lanes, then of tasks without one."""
    found: dict[str, list[int]] = {f"lane {lane.id}": [] for lane in state.lanes}
    for task in state.tasks:
        if not task.removed and task.spec.errand is None:
            found.setdefault(lane_of(task.spec), []).append(task.number)
    return {line: numbers for line, numbers in found.items() if numbers}


def stands_on(state: RunState, line: str) -> list[str]:
    """List the other lines that tasks of this one need, in the order of lines."""
    inside = members(state)
    needed = {lane_of(state.tasks[other].spec) for number in inside.get(line, ()) for other in state.hard[number]}
    return [other for other in inside if other in needed and other != line]


def comes_with_another(state: RunState, line: str) -> bool:
    """Say whether a line stands on one that is in conflict: once that is solved it may fit by itself."""
    landing = state.landing
    return any(other in landing.clashes or other in landing.conflicts for other in stands_on(state, line))
