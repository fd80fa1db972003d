"""Which ready task starts next. Pure: the same state and the same free slots give the same choice.

Order: soft dependencies met, priority, longest remaining path, number. A task that a limit holds back is parked under
what it waits for, so that a full lane or group costs nothing while others start. Tasks that ask for cpus or gpus never
overtake each other, or a large one would starve; so when some become free only the first that waits for them is looked
at, and the next one when that has gone: a choice costs the same however many wait.
"""

from collections.abc import Sequence
from heapq import heappop, heappush

from budwood._core.events import AttemptQueued
from budwood._core.model import Reviewer, RunPhase, TaskPhase, TaskSpec
from budwood._core.reserve import reserve_of
from budwood._core.state import Rank, RunState, TaskState

MACHINE = "machine"
"""Where those wait that ask for more cpus or gpus than are free."""
_DUST = 1e-9
"""What adding and taking away fractions may leave; a task that wants all of an idle machine must not wait for it."""


def pick(state: RunState, now_ms: int, *, slots: Sequence[int]) -> AttemptQueued | None:
    """Choose one task for the first of the free slots; None when nothing may start now."""
    if not slots or state.phase not in (RunPhase.ACTIVE, RunPhase.WAITING) or time_is_spent(state, now_ms):
        return None
    while (rank := _next_rank(state)) is not None:
        task = state.tasks[rank[3]]
        if not is_current(task, rank):
            continue
        if task.not_before_ms > now_ms:  # it is pushed again when its time has come
            _pass_on(state, task)
            continue
        held_by = _held_by(state, task) or _rests(state, task, now_ms)
        if held_by is not None:
            _park(state, rank, held_by)
            continue
        if not has_budget(state, task):
            heappush(state.queue.ready, rank)
            return None
        return AttemptQueued(
            task=task.spec.id,
            attempt=task.attempts + 1,
            slot=slots[0],
            retry=task.tries,
            gpus=_free_gpus(state)[: task.spec.gpus],
            agent=agent_for(state, task, now_ms) or "",
        )
    return None


def agent_for(state: RunState, task: TaskState, now_ms: int) -> str | None:
    """Choose who is asked: who has begun it, else the first whose account is not at its limit; None if all are.

    Nobody is asked while the account of the reviewer is at its limit; where only a review is missing, only that counts.
    """
    asked = task.spec.agent
    begun = task.go_on.agent if task.go_on is not None and task.go_on.agent in asked else None
    if _review_rests_until(state, task) > now_ms:
        return None
    if begun is not None and _is_made(task):
        return begun
    wanted = asked if begun is None else (begun, *asked)
    return next((name for name in wanted if _limit_of(state, name) <= now_ms), None)


def _limit_of(state: RunState, agent: str) -> int:
    terms = state.settings.agents.get(agent)
    return 0 if terms is None else state.limited.get(terms.account, 0)


def rests_until(state: RunState, task: TaskState) -> int:
    """Say when the first of a task's agents may be asked again, and its reviewer."""
    agents = 0 if _is_made(task) else min((_limit_of(state, name) for name in task.spec.agent), default=0)
    return max(agents, _review_rests_until(state, task))


def _is_made(task: TaskState) -> bool:
    """Say whether only a review of what the agent made is missing."""
    return task.go_on is not None and task.go_on.unreviewed is not None


def _review_rests_until(state: RunState, task: TaskState) -> int:
    reviewer = task.spec.reviewer
    return _limit_of(state, reviewer.agent) if isinstance(reviewer, Reviewer) else 0


def _rests(state: RunState, task: TaskState, now_ms: int) -> str | None:
    """Name the account that a task waits for: of those at their limit the one whose limit ends first."""
    if not task.spec.agent or agent_for(state, task, now_ms) is not None:
        return None
    first = min(task.spec.agent, key=lambda name: _limit_of(state, name))
    if isinstance(task.spec.reviewer, Reviewer) and _review_rests_until(state, task) > now_ms:
        first = task.spec.reviewer.agent
    return f"account {state.settings.agents[first].account}"


def wake_account(state: RunState, account: str) -> None:
    """Let those queue again that waited for the end of an account's limit."""
    _unpark(state, f"account {account}", everyone=True)


def _next_rank(state: RunState) -> Rank | None:
    """Take the first of those that queue, and of those that wait for the machine, if it may have room for them."""
    queue = state.queue
    if queue.machine_freed:
        first = _first_parked(state, MACHINE)
        if first is None:
            queue.machine_freed = False
        else:
            heappop(queue.parked[MACHINE])
            heappush(queue.ready, first)
    return heappop(queue.ready) if queue.ready else None


def wake(state: RunState, number: int) -> None:
    """Put a task whose back-off is over into the queue again."""
    task = state.tasks[number]
    if task.phase is TaskPhase.READY:
        task.not_before_ms = 0
        heappush(state.queue.ready, task.rank)


def released(state: RunState, held: TaskSpec) -> None:
    """Let those queue again that waited for what an attempt at this task held."""
    for name in _names(held):
        if name == MACHINE:
            look_again(state)
        else:
            _unpark(state, name, everyone=False)


def unpark_all(state: RunState) -> None:
    """Let everybody queue again; for when limits changed."""
    look_again(state)
    for name in list(state.queue.parked):
        if name != MACHINE:
            _unpark(state, name, everyone=True)


def given_up(state: RunState, *, in_line: bool) -> None:
    """Look again when tasks were given up; in lanes and groups only if one of them stood in line there."""
    look_again(state)
    if in_line:
        unpark_all(state)


def look_again(state: RunState) -> None:
    """Look again at the first that waits for the machine: something else may hold it back by now, and not the rest."""
    state.queue.machine_freed = True


def has_budget(state: RunState, task: TaskState) -> bool:
    """Say whether the task's reservation fits into what is left of money, tokens and attempts."""
    limits, spent = state.settings, state.spending
    return (
        (limits.max_attempts is None or spent.attempts < limits.max_attempts)
        and _fits(spent.cost_usd + spent.reserved_usd, reserve_of(limits, task.spec), limits.budget_usd)
        and _fits(spent.tokens + spent.reserved_tokens, task.spec.reserve_tokens, limits.budget_tokens)
    )


def _fits(used: float, more: float, limit: float | None) -> bool:
    return limit is None or (used < limit - _DUST and used + more <= limit + _DUST)


def time_is_spent(state: RunState, now_ms: int) -> bool:
    """Say whether drivers have driven the run for as long as its budget allows."""
    limit = state.settings.budget_time_s
    return limit is not None and state.driven_until(now_ms) >= limit


def best_ready(state: RunState, now_ms: int) -> TaskState | None:
    """Return the task that would start next if slots, limits and money were no question."""
    ranks = sorted(state.queue.ready)
    tasks = (state.tasks[rank[3]] for rank in ranks if is_current(state.tasks[rank[3]], rank))
    return next((task for task in tasks if task.not_before_ms <= now_ms), None)


def waits_for(state: RunState, task: TaskState) -> str | None:
    """Say in words which limit holds a ready task back."""
    spec, held = task.spec, state.holdings
    match _held_by(state, task):
        case None:
            return None
        case "machine":
            return (
                f"it asks for {spec.cpus:g} cpus and {spec.gpus} gpus; taken are {held.cpus:g} of "
                f"{state.settings.cpus:g} cpus and {len(held.gpus)} of {len(state.settings.gpus)} gpus"
            )
        case str(name) if name.startswith("lane"):
            return f"another task of lane {spec.lane} is running"
        case _:
            return f"group {spec.group} is full ({_group_limit(state, task)} at once)"


def is_current(task: TaskState, rank: Rank) -> bool:
    """Say whether an entry of the queue still stands for a ready task."""
    return task.phase is TaskPhase.READY and task.rank == rank


def _names(spec: TaskSpec) -> list[str]:
    names = [] if spec.lane is None else [f"lane {spec.lane}"]
    if spec.group is not None:
        names.append(f"group {spec.group}")
    if spec.cpus or spec.gpus:
        names.append(MACHINE)
    return names


def _group_limit(state: RunState, task: TaskState) -> int:
    return state.settings.groups.get(task.spec.group or "", 1)


def _held_by(state: RunState, task: TaskState) -> str | None:
    spec, held = task.spec, state.holdings
    if spec.lane is None and spec.group is None and not spec.cpus and not spec.gpus:
        return None
    for name in _names(spec):
        if name != MACHINE and _is_full(state, task, name):
            return name
    if not (spec.cpus or spec.gpus):
        return None
    first = _first_parked(state, MACHINE)
    if (
        (first is not None and first < task.rank)
        or held.cpus + spec.cpus > state.settings.cpus + _DUST
        or spec.gpus > len(_free_gpus(state))
    ):
        return MACHINE
    return None


def _is_full(state: RunState, task: TaskState, name: str) -> bool:
    spec, held = task.spec, state.holdings
    if name.startswith("lane "):
        return held.lanes.get(str(spec.lane), 0) > 0
    return spec.group is not None and held.groups.get(spec.group, 0) >= _group_limit(state, task)


def _first_parked(state: RunState, name: str) -> Rank | None:
    parked = state.queue.parked.get(name, [])
    while parked and not is_current(state.tasks[parked[0][3]], parked[0]):
        heappop(parked)
    return parked[0] if parked else None


def _free_gpus(state: RunState) -> tuple[str, ...]:
    return tuple(gpu for gpu in state.settings.gpus if gpu not in state.holdings.gpus)


def _park(state: RunState, rank: Rank, name: str) -> None:
    if name == MACHINE:
        state.queue.machine_freed = False  # all that wait for it come behind this one
    heappush(state.queue.parked.setdefault(name, []), rank)
    _pass_on(state, state.tasks[rank[3]])


def _pass_on(state: RunState, task: TaskState) -> None:
    """Let the next in line have the place in a free lane or group that may have been meant for this task.

    Only what is free is looked at, and nobody is ever parked under what is free, so this ends.
    """
    for name in _names(task.spec):
        if name != MACHINE and not _is_full(state, task, name):
            _unpark(state, name, everyone=False)


def _unpark(state: RunState, name: str, *, everyone: bool) -> None:
    parked = state.queue.parked.get(name, [])
    while parked:
        rank = heappop(parked)
        if is_current(state.tasks[rank[3]], rank):
            heappush(state.queue.ready, rank)
            if not everyone:
                break
    if not parked:
        state.queue.parked.pop(name, None)
