"""The merge queue: what it does next, when every task of a run has ended.

Finished lines are merged in one chain and verified as a whole; where that fails, halves of the chain are, until the
line is found that breaks it. Everything is a function of the state and of what git says, which is in events, so that a
killed driver's successor does the same. Knows the state; must not know git, and does nothing itself.
"""

from collections.abc import Iterable

from budwood._core.choice import competes
from budwood._core.commands import Chore, JoinLines, LookAtConflict, PublishJoint, SolveConflict, Tip
from budwood._core.events import Clash, ErrandAdded, Event, LaneConflicted, LaneHeld, LanesJoined, MergeStopped
from budwood._core.ids import free_name, safe_name
from budwood._core.landing import comes_with_another, members
from budwood._core.model import Errand, TaskId, TaskPhase, TaskSpec
from budwood._core.state import Lines, RunState, TaskState
from budwood.engine.lines import groups_to_merge
from budwood.engine.workshop.orders import branch_names
from budwood.plans import complete

_MOST_MOVES = 5
_MOST_RESOLVES = 2
_RESOLVE_S = 3600.0
_SHOWN = 100


class Lander:
    """Says what is to be done next; asked only when no task is open and nothing else of the queue is being done."""

    def __init__(self) -> None:
        self._unseen: list[LaneConflicted] | None = None
        """Conflicts of an earlier drive, which may be solved by now."""
        self._stopped: MergeStopped | None = None
        """What stopped an earlier drive: tried again."""

    def next(self, state: RunState) -> Chore | list[Event] | None:
        """Return something to do, events to record, or None when there is nothing more to merge."""
        if not state.wants_merging:
            return None
        if self._unseen is None:
            self._unseen = list(state.landing.conflicts.values())
            self._stopped = state.landing.stopped
        if state.landing.stopped is not None and state.landing.stopped is not self._stopped:
            return None  # not by what it says: what stopped this drive may say the same again
        while self._unseen:
            conflict = self._unseen.pop(0)
            if state.landing.conflicts.get(conflict.line) is conflict:  # else somebody has made it another since
                return LookAtConflict(conflict=conflict)
        groups = groups_to_merge(state, partial=_is_partial(state))
        if groups or _is_due(state):
            return _merge(state, groups)
        for clash in state.landing.clashes.values():
            if not comes_with_another(state, clash.line):
                return _solve(state, clash)
        if state.landing.asked is not None and state.landing.asked.resolve:  # also what a person was asked before
            for conflict in state.landing.conflicts.values():
                if _may_try(state, conflict):
                    return _solve(state, conflict)
        return None


def _merge(state: RunState, groups: list[tuple[str, ...]]) -> Chore | list[Event]:
    lines = tuple((line, state.heads[line]) for group in groups for line in group)
    join = state.landing.joins.get(lines)
    if join is None:
        return _join(state, groups)
    events = _verified(state, join)
    if events:
        return events
    if state.landing.moved >= _MOST_MOVES:
        into = _into(state)
        why = f"{into} moves all the time"
        return [MergeStopped(into=into, reason=why, hint=f"budwood resume {state.name} tries again when it rests")]
    clashed = {clash.line for clash in join.clashes}
    whole = [line for group in groups if clashed.isdisjoint(group) for line in group]
    merged = tuple((line, state.heads[line]) for line in whole)
    return PublishJoint(
        lines=merged,
        commit=join.commit,
        into=_into(state),
        target=join.target,
        tasks=_tasks_of(state, merged),
    )


def _is_partial(state: RunState) -> bool:
    return state.landing.asked is not None and state.landing.asked.partial


def _into(state: RunState) -> str:
    asked = state.landing.asked
    return state.settings.into if asked is None else asked.into or state.settings.into


def _is_due(state: RunState) -> bool:
    """Say whether a branch of the user's is to move to what is in the run's own."""
    into, published = _into(state), state.landing.commit
    return bool(into and published) and state.landing.delivered.get(into) != published


def _squashes(state: RunState) -> bool:
    asked = state.landing.asked
    return state.settings.merge == "squash" if asked is None else asked.squash


def _resolvers(state: RunState) -> tuple[str, ...]:
    asked = state.landing.asked
    return state.settings.resolve if asked is None else asked.resolve or state.settings.resolve


def _join(state: RunState, groups: list[tuple[str, ...]]) -> JoinLines:
    assert state.settings.workspace is not None
    landing, inside = state.landing, members(state)

    def tip(line: str) -> Tip:
        tasks = [state.tasks[number] for number in inside[line] if state.tasks[number].phase is TaskPhase.DONE]
        about = "".join(f"- {task.spec.id}{_about(task)}\n" for task in tasks)
        return Tip(line, state.heads[line], f"Merge {line} of run {state.name}\n\n{about}")

    return JoinLines(
        groups=tuple(tuple(tip(line) for line in group) for group in groups),
        published=landing.commit or state.settings.workspace.base,
        shadow=landing.shadow,
        into=_into(state),
        squash=_squashes(state),
    )


def _about(task: TaskState) -> str:
    lines = (task.spec.description or task.spec.prompt).strip().splitlines()
    return f": {lines[0][:_SHOWN]}" if lines else ""


def _chain(join: LanesJoined) -> list[str]:
    return [join.onto, *(joint.commit for joint in join.joints)]


def _verified(state: RunState, join: LanesJoined) -> list[Event]:
    """Return what is still to be known or told as broken before what was merged may be published; nothing if it may."""
    if state.settings.verify is None:
        return []
    chain = _chain(join)
    low, high = 0, len(chain) - 1
    found = _result(state, chain[high])
    if found is None:
        return [_verify(state, join, high)]
    if found.phase is TaskPhase.DONE:
        return []
    logs = f"budwood logs {state.name} {found.spec.id}"
    if found.phase is not TaskPhase.FAILED:
        why = f"its verification was {found.phase.value}"
        holds = _hold(state, (line for line, _ in join.lines), found, why)
        return holds or [MergeStopped(into=_into(state), reason=why, hint=logs)]
    while high - low > 1:
        middle = (low + high) // 2
        half = _result(state, chain[middle])
        if half is None:
            return [_verify(state, join, middle)]
        low, high = (middle, high) if half.phase is TaskPhase.DONE else (low, middle)
    first = _result(state, chain[0])
    if low == 0 and first is None:
        return [_verify(state, join, 0)]
    if low == 0 and first is not None and first.phase is not TaskPhase.DONE:
        why = f"verify fails at {chain[0][:12]} already, before any of these lines is merged"
        holds = _hold(state, (line for line, _ in join.lines), first, why)
        return holds or [MergeStopped(into=_into(state), reason=why, hint=logs)]
    broken = _result(state, chain[high])
    assert broken is not None
    why = f"verify passes without it and fails with it: {_why(broken)}"
    return _hold(state, join.joints[high - 1].lines, broken, why)


def _why(task: TaskState) -> str:
    return task.notes[-1].ended if task.notes else task.error_type or task.phase.value


def _result(state: RunState, commit: str) -> TaskState | None:
    number = state.landing.verifies.get(commit)
    return None if number is None else state.tasks[number]


def _hold(state: RunState, lines: Iterable[str], because: TaskState, reason: str) -> list[Event]:
    return [LaneHeld(line=line, head=state.heads[line], reason=reason, task=because.spec.id) for line in lines]


def is_verify(task: TaskState) -> bool:
    """Say whether a task verifies what was merged."""
    return task.spec.errand is not None and task.spec.errand.kind == "verify"


def _verify(state: RunState, join: LanesJoined, place: int) -> ErrandAdded:
    inside = [line for joint in join.joints[:place] for line in joint.lines]
    spec = TaskSpec(
        id=_free_id(state, f"verify-{1 + sum(map(is_verify, state.tasks))}"),
        run=state.settings.verify,
        description=f"verify {', '.join(inside)}"[:_SHOWN] if inside else "verify what lanes are merged into",
        timeout_s=state.settings.verify_timeout_s,
        retries=1,
        errand=Errand(kind="verify", start=_chain(join)[place]),
    )
    return ErrandAdded(task=_completed(state, spec))


def _solve(state: RunState, clash: Clash | LaneConflicted) -> SolveConflict:
    return SolveConflict(
        line=clash.line,
        head=clash.head,
        onto=clash.onto,
        branch=branch_names(state)[clash.line],
        agent=_resolve(state, clash.line, _resolvers(state)) if _may_try(state, clash) else None,
    )


def _may_try(state: RunState, clash: Clash | LaneConflicted) -> bool:
    """Say whether an agent may try: once where a line stands, and not without end as it moves."""
    resolves = state.landing.resolves
    tried = sum(line == clash.line for line, _ in resolves)
    return bool(_resolvers(state)) and (clash.line, clash.head) not in resolves and tried < _MOST_RESOLVES


def _resolve(state: RunState, line: str, agents: tuple[str, ...]) -> TaskSpec:
    spec = TaskSpec(
        id=_free_id(state, f"resolve-{safe_name(line.partition(' ')[2], fallback='lane')}"),
        description=f"solve the conflicts of {line}",
        agent=agents,
        timeout_s=_RESOLVE_S,
        check=state.settings.verify,
        retries=1,
        errand=Errand(kind="resolve", start="", line=line),
    )
    return _completed(state, spec)


def _completed(state: RunState, spec: TaskSpec) -> TaskSpec:
    """Give an errand what the run's own tasks get: variables, a time limit if it has none."""
    defaults = {name: value for name, value in state.task_defaults.items() if name in ("env", "env_pass", "timeout_s")}
    return complete(spec, defaults)


def _free_id(state: RunState, wanted: str) -> TaskId:
    return free_name(wanted, state.by_id)


def _tasks_of(state: RunState, lines: Lines) -> tuple[TaskId, ...]:
    """Name the tasks whose candidates these lines hold."""
    inside = members(state)
    tasks = [state.tasks[number] for line, _ in lines for number in inside[line]]
    return tuple(
        task.spec.id
        for task in tasks
        if task.phase is TaskPhase.DONE and task.made is not None and (task.made.left.files or competes(state, task))
    )
