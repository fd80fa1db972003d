"""A plan that was read: tasks, lanes, and the settings that its file asks for.

Knows the model and settings. Must not read files.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import msgspec

from budwood._core.model import LaneSpec, RunSettings, TaskSpec
from budwood._core.scores import Scoring
from budwood.errors import PlanError
from budwood.settings import KEYS, Layer, Resolved, Scope
from budwood.settings.reviewing import read_reviewer

AGENT_TIMEOUT_S = 3600.0
AGENT_RETRIES = 1
"""What a task for an agent gets that nobody said."""
MIN_MEMORY = 1024 * 1024
"""No process starts in less; whoever writes less has forgotten the unit."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What one plan file says."""

    tasks: tuple[TaskSpec, ...]
    lanes: tuple[LaneSpec, ...] = ()
    run: Mapping[str, object] = field(default_factory=dict)
    path: str = "the plan"
    format: str = "budwood"
    """Or "yokeflow": then lanes are epics; or "markdown"."""
    explicit: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    """By task number, keys set to what is the default anyway, so that a default of [run] does not replace them."""
    left_out: tuple[str, ...] = ()
    """What of the file is in no task, in words."""

    @property
    def layer(self) -> Layer:
        """The [run] table as a layer of settings."""
        return self.path, self.run


def has_prompts(tasks: Iterable[TaskSpec]) -> bool:
    """Say whether there is anything for an agent to do."""
    return any(task.run is None and task.function is None for task in tasks)


def with_defaults(plan: Plan, resolved: Resolved) -> Plan:
    """Give each task what [run] or another layer sets for all of them and the task does not say itself."""
    defaults = task_defaults(resolved)
    if not defaults:
        return plan
    tasks = tuple(
        complete(task, defaults, explicit=plan.explicit.get(number, ())) for number, task in enumerate(plan.tasks)
    )
    return replace(plan, tasks=tasks)


def task_defaults(resolved: Resolved) -> dict[str, object]:
    """Collect what is set for all tasks, by the names of a task's fields."""
    return {
        key.target: resolved.value(name)
        for name, key in KEYS.items()
        if key.scope is Scope.TASK and resolved.value(name) not in (None, key.default)
    }


def complete(task: TaskSpec, defaults: Mapping[str, object], *, explicit: tuple[str, ...] = ()) -> TaskSpec:
    """Give one task what is set for all of them and it does not say itself."""
    changed: dict[str, object] = {}
    for name, value in defaults.items():
        own: object = getattr(task, name)
        if not _concerns(task, name) or (name == "model" and _asks_others(task, defaults)):
            continue
        if name == "env":
            changed[name] = {**msgspec.convert(value, dict[str, str]), **task.env}
        elif name == "env_pass":
            changed[name] = tuple(dict.fromkeys((*msgspec.convert(value, tuple[str, ...]), *task.env_pass)))
        elif name == "score" and own is None:
            changed[name] = msgspec.convert(value, Scoring)
        elif name == "reviewer" and own is None:
            changed[name] = read_reviewer(value)
        elif name == "agent" and not own:
            changed[name] = msgspec.convert(value, tuple[str, ...])
        elif name == "max_review_rounds":
            changed[name] = value if own is None else own
        elif name not in explicit and not own:
            changed[name] = value
    return msgspec.structs.replace(task, **changed)


def _concerns(task: TaskSpec, name: str) -> bool:
    """Say whether a task can have what is set for all of them: only a prompt needs an agent, no function is checked."""
    if name in ("agent", "model", "allow_unchanged", "reviewer", "max_review_rounds"):
        return task.run is None and task.function is None
    return name not in ("check", "score") or task.function is None


def _asks_others(task: TaskSpec, defaults: Mapping[str, object]) -> bool:
    """Say whether a task asks agents that are none of those for all tasks: a model is one family's."""
    for_all = msgspec.convert(defaults.get("agent") or (), tuple[str, ...])
    return bool(for_all and task.agent) and not set(task.agent) & set(for_all)


def refuse_impossible(plan: Plan, settings: RunSettings) -> None:
    """Refuse a task that could never start: it wants more than the run has."""
    for task in plan.tasks:
        wanted = _impossible(task, settings)
        if wanted is not None:
            raise PlanError(f"task {str(task.id)!r} of {plan.path} can never start: {wanted[0]}", hint=wanted[1])


def _impossible(task: TaskSpec, settings: RunSettings) -> tuple[str, str] | None:
    if task.cpus > settings.cpus:
        return (
            f"it wants {task.cpus:g} cpus, the run has {settings.cpus:g}",
            "lower cpus of the task, or raise that of [run]",
        )
    if task.gpus > len(settings.gpus):
        return f"it wants {task.gpus} gpus, the run has {len(settings.gpus)}", "name the devices: gpus in [run]"
    if task.memory_bytes is not None and task.memory_bytes < MIN_MEMORY:
        return f"nothing runs in {task.memory_bytes} bytes of memory", 'give memory a unit: "512MB"'
    if settings.budget_usd is not None and task.reserve_usd > settings.budget_usd:
        return f"it reserves ${task.reserve_usd:g} of a budget of ${settings.budget_usd:g}", "raise budget_usd"
    if settings.budget_tokens is not None and task.reserve_tokens > settings.budget_tokens:
        return f"it reserves {task.reserve_tokens} of {settings.budget_tokens} tokens", "raise budget_tokens"
    return None
