"""Tasks that are asked for while the run goes on: what they take over, and what may not be.

The driver answers these one after another, so that caps hold whoever asks at the same time. Knows the state and the
rules of plans; must not know who asks, or how.
"""

from collections.abc import Iterable, Sequence

import msgspec

from budwood._core.events import Event, External, TaskCreated, TaskUpdated
from budwood._core.graph import build
from budwood._core.ids import free_name, safe_name
from budwood._core.model import ENDED_RUN, TaskId, TaskPhase, TaskSpec
from budwood._core.state import RunState, TaskState
from budwood._core.suggest import did_you_mean
from budwood.engine.refusal import Refusal
from budwood.engine.wanted import (
    TEXT_CHARS,
    TITLE_CHARS,
    ChangedTask,
    Done,
    NewTask,
    asking_task,
    find_task,
    refuse_long,
    refuse_others,
)
from budwood.errors import PlanError
from budwood.plans import AGENT_RETRIES, AGENT_TIMEOUT_S, complete
from budwood.strategies.beam_nodes import IDEA_PATH, IDEA_SHA256

_CREATED, _THERE = "created ", "there is already "
_NEVER_DONE = (TaskPhase.FAILED, TaskPhase.CANCELLED, TaskPhase.SKIPPED)
_NOT_BEGUN = (TaskPhase.BLOCKED, TaskPhase.READY)
_HIGHEST = 1_000_000_000
_ID_CHARS = 100
_INHERITED = (
    *("timeout_s", "retries", "env", "env_pass", "cpus", "memory_bytes", "reserve_usd", "reserve_tokens", "check"),
    "allow_unchanged",
)
_OF_AGENTS = ("agent", "model")
_OF_IDEAS = (IDEA_PATH, IDEA_SHA256)
"""What a search says of the idea that a task tries, which what that creates does not."""


def created_id(answer: str) -> str:
    """Read from the answer to a request which task there is now."""
    return answer.removeprefix(_CREATED).removeprefix(_THERE)


def create(state: RunState, new: NewTask, _now_ms: int) -> Done:
    """Let a task join. The same asked for twice by attempts at one task is one task."""
    parent = None if new.by is None else asking_task(state, new.by)
    _refuse_ended(state)
    _check_texts(new.description, new.prompt, new.run)
    twin = None if parent is None else _twin(state, new, parent)
    if twin is not None:
        return [], f"{_THERE}{twin.spec.id}"
    if parent is not None:
        _refuse_more(state, parent)
    spec = _spec(state, new, parent)
    _refuse_unfit(state, spec)
    events: list[Event] = [External(cause="created", task=spec.id)]
    events.append(TaskCreated(task=spec, parent=None if parent is None else parent.spec.id))
    return events, f"{_CREATED}{spec.id}"


def update(state: RunState, changed: ChangedTask, _now_ms: int) -> Done:
    """Change a task that was created while the run went on, as long as it has not begun."""
    task = find_task(state, changed.task)
    refuse_others(state, changed.by, task)
    _refuse_ended(state)
    if task.spec.errand is not None:
        raise Refusal(f"task {task.spec.id} is the merge queue's, which alone says what it does")
    if not task.is_created:
        raise Refusal(f"task {task.spec.id} is the plan's; it is changed there, and budwood run FILE takes that in")
    if task.phase not in _NOT_BEGUN or task.attempts:
        began = "is running" if task.phase is TaskPhase.ACTIVE else f"is {task.phase.value}"
        raise Refusal(f"task {task.spec.id} {began}; only what has not begun can be changed, its dependencies included")
    spec = _changed(state, task.spec, changed)
    if spec == task.spec:
        return [], f"nothing to change about {task.spec.id}"
    others = [each.spec for each in state.tasks if not each.removed and each is not task]
    _refuse_unfollowable([*others, spec], state)
    return [External(cause="updated", task=spec.id), TaskUpdated(task=spec)], f"updated {spec.id}"


def _refuse_ended(state: RunState) -> None:
    if state.phase in ENDED_RUN:
        raise Refusal(f"run {state.name} is {state.phase.value}")
    if state.cancelled:
        raise Refusal(f"run {state.name} was cancelled")
    if state.settings.strict and state.counts[TaskPhase.FAILED]:
        raise Refusal("a task has failed, and under strict nothing new starts")


def _refuse_more(state: RunState, parent: TaskState) -> None:
    limits = state.settings
    if parent.depth >= limits.mcp_depth:
        raise Refusal(
            f"task {parent.spec.id} is {parent.depth} away from the plan, and mcp_depth is {limits.mcp_depth}: "
            "it cannot create further tasks"
        )
    if parent.children >= limits.mcp_fan_out:
        raise Refusal(
            f"task {parent.spec.id} has created {parent.children} tasks; mcp_fan_out allows {limits.mcp_fan_out}"
        )


def _twin(state: RunState, new: NewTask, parent: TaskState) -> TaskState | None:
    """Find what an earlier attempt, or the same call sent twice, has created with the same words."""
    wanted = (new.description, new.prompt, new.run)
    for task in state.tasks:
        spec = task.spec
        if task.parent == parent.number and not task.removed and wanted == (spec.description, spec.prompt, spec.run):
            return task
    return None


def _check_texts(description: str, prompt: str, run: str | None) -> None:
    if not description.strip():
        raise Refusal("a task needs a description")
    refuse_long(description, what="the description", most=TITLE_CHARS)
    refuse_long(prompt, what="the action", most=TEXT_CHARS)
    refuse_long(run or "", what="the command", most=TEXT_CHARS)
    if bool(prompt.strip()) == bool((run or "").strip()):
        raise Refusal("a task has either an action, for an agent, or run, a shell command")


def _spec(state: RunState, new: NewTask, parent: TaskState | None) -> TaskSpec:
    """Write the task down, with what it takes over from its parent, and else from the run."""
    own = _fresh_id(state, new)
    if own in (*map(str, new.after), *map(str, new.prefer_after)):
        raise Refusal(f"depends_on names {own}, the task itself")
    spec = TaskSpec(
        id=own,
        description=new.description,
        prompt=new.prompt,
        run=new.run,
        after=_known(state, new.after, "depends_on"),
        prefer_after=_known(state, new.prefer_after, "depends_on"),
        priority=_priority(new.priority),
        lane=_lane(state, new.lane),
        model=new.model if new.run is None else None,
    )
    if parent is not None:
        taken = {name: getattr(parent.spec, name) for name in _INHERITED}
        taken["env"] = {name: value for name, value in parent.spec.env.items() if name not in _OF_IDEAS}
        if new.run is None and new.agent is None:
            taken |= {name: getattr(spec, name) or getattr(parent.spec, name) for name in _OF_AGENTS}
        spec = msgspec.structs.replace(spec, **taken)
    if new.agent is not None:
        spec = msgspec.structs.replace(spec, agent=(new.agent,))
    # What a store kept of defaults has lists where a task has tuples.
    spec = msgspec.convert(msgspec.to_builtins(complete(spec, state.task_defaults)), TaskSpec)
    return spec if spec.run is not None else _manned(state, spec)


def _manned(state: RunState, spec: TaskSpec) -> TaskSpec:
    if state.settings.workspace is None:
        raise Refusal(f"run {state.name} has no agents, so nobody could take an action; give run, a shell command")
    names = spec.agent or (tuple(state.settings.agents) if len(state.settings.agents) == 1 else ())
    known = ", ".join(state.settings.agents)
    if not names:
        raise Refusal(f"who is to do it? name an agent: {known}")
    unknown = next((name for name in names if name not in state.settings.agents), None)
    if unknown is not None:
        raise Refusal(f"run {state.name} has no agent {unknown}; it has {known}")
    if spec.timeout_s is not None:
        return msgspec.structs.replace(spec, agent=names)
    return msgspec.structs.replace(spec, agent=names, timeout_s=AGENT_TIMEOUT_S, retries=spec.retries or AGENT_RETRIES)


def _fresh_id(state: RunState, new: NewTask) -> str:
    taken = {str(task.spec.id) for task in state.tasks}  # those that the plan lost keep theirs
    if new.id is None:
        return free_name(safe_name(new.description, fallback="task", most=40), taken)
    if not new.id.strip() or not new.id.isprintable() or len(new.id) > _ID_CHARS:
        raise Refusal(f"{new.id[:_ID_CHARS]!r} cannot be a task's id: at most {_ID_CHARS} letters, digits, - and _")
    if new.id in taken:
        raise Refusal(f"there is already a task {new.id}; give it another id, or none")
    return new.id


def _known(state: RunState, names: Sequence[TaskId], key: str) -> tuple[TaskId, ...]:
    for name in names:
        task = state.by_id.get(str(name))
        if task is not None and task.spec.errand is not None:
            raise Refusal(f"{key} names {name}, which merges what tasks made; nothing can depend on that")
        if task is None or task.removed:
            hint = did_you_mean(str(name), state.by_id)
            raise Refusal(f"{key} names {name}, and no task is called that" + (f"; {hint}" if hint else ""))
    return tuple(state.task(name).spec.id for name in dict.fromkeys(map(str, names)))


def _lane(state: RunState, name: TaskId | None) -> TaskId | None:
    if name is None:
        return None
    lanes = {str(lane.id): lane.id for lane in state.lanes}
    if str(name) not in lanes:
        known = f"it has {', '.join(lanes)}" if lanes else "it has none"
        raise Refusal(f"run {state.name} has no lane {name}; {known}")
    return lanes[str(name)]


def _priority(given: int) -> int:
    if abs(given) > _HIGHEST:
        raise Refusal(f"priority is {given}; it takes a whole number between -{_HIGHEST} and {_HIGHEST}")
    return given


def _refuse_unfit(state: RunState, spec: TaskSpec) -> None:
    """Refuse what could never run, and what would change what others began with."""
    lost = next((name for name in spec.after if state.task(name).phase in _NEVER_DONE), None)
    if lost is not None:
        raise Refusal(f"depends_on names {lost}, which is {state.task(lost).phase.value} and will not be done")
    if spec.lane is None or not any(lane.after for lane in state.lanes):
        return  # nothing that is there can come to depend on it
    live = [task for task in state.tasks if not task.removed]
    graph = _refuse_unfollowable([*(task.spec for task in live), spec], state)
    for number, task in enumerate(live):
        if len(live) in graph[number] and task.phase not in (*_NOT_BEGUN, *_NEVER_DONE):
            raise Refusal(
                f"lane {spec.lane} comes before lane {task.spec.lane}, and task {task.spec.id} of that has begun "
                "without it"
            )


def _refuse_unfollowable(specs: Sequence[TaskSpec], state: RunState) -> Sequence[Iterable[int]]:
    """Refuse a cycle, by its name; else return what each waits for."""
    try:
        return list(build(specs, state.lanes).hard)
    except PlanError as error:
        raise Refusal(error.message) from error


def _changed(state: RunState, spec: TaskSpec, changed: ChangedTask) -> TaskSpec:
    wanted: dict[str, object] = {}
    for name in ("description", "prompt", "run"):
        if getattr(changed, name) is not None:
            wanted[name] = getattr(changed, name)
    if changed.priority is not None:
        wanted["priority"] = _priority(changed.priority)
    if changed.after is not None:
        wanted["after"] = _known(state, changed.after, "depends_on")
        lost = next((name for name in changed.after if state.task(name).phase in _NEVER_DONE), None)
        if lost is not None:
            raise Refusal(f"depends_on names {lost}, which is {state.task(lost).phase.value} and will not be done")
    if changed.prefer_after is not None:
        wanted["prefer_after"] = _known(state, changed.prefer_after, "depends_on")
    new = msgspec.structs.replace(spec, **wanted)
    if (new.run is None) != (spec.run is None):
        raise Refusal(f"task {spec.id} is {'an action' if spec.run is None else 'a command'}, and stays one")
    _check_texts(new.description, new.prompt, new.run if isinstance(new.run, str) else None)
    return new
