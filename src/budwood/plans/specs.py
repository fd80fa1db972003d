"""From what a plan file says to TaskSpec and LaneSpec, with every value checked.

Knows the rules that types cannot say. Must not know the graph: whether ids exist is its business.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache

from msgspec.structs import replace

from budwood._core.model import LaneSpec, Reviewer, TaskId, TaskSpec
from budwood._core.plain import is_plain
from budwood._core.scores import Scoring
from budwood.errors import PlanError
from budwood.plans.entries import LaneEntry, TaskEntry
from budwood.plans.keys import LANE_KEYS, TASK_KEYS
from budwood.settings.kinds import Unfit, bytes_of, seconds
from budwood.settings.reviewing import read_reviewer
from budwood.settings.scoring import read_scoring

_ZEROES = ("retries", "reserve_usd", "reserve_tokens", "allow_unchanged")
_NO_KWARGS: dict[str, object] = {}
_NO_ENV: dict[str, str] = {}
"""Shared by all tasks that have none; a spec is never changed."""


def task_specs(entries: Sequence[TaskEntry], *, path: str) -> list[TaskSpec]:
    """Check each entry and fill in what it does not say."""
    specs = []
    for entry in entries:
        name, run = entry.id, entry.run
        # A call for each check takes longer than the check: only what is not plainly right is looked at more closely.
        if not (isinstance(name, str) and name.isprintable() and name.strip()):
            _check_id(name, what="task", path=path)
        if run is not None and not (isinstance(run, str) and run.strip() and "\0" not in run):
            _check_command(entry, path=path)
        function, args, kwargs = entry.function, entry.args, entry.kwargs
        if function is not None:
            _check_function(entry, function, path=path)
        if args or kwargs:
            _check_arguments(entry, path=path)
        spec = TaskSpec(
            id=name,
            run=run,
            function=function,
            args=args,
            kwargs=kwargs or _NO_KWARGS,
            description=entry.description,
            prompt=entry.prompt,
            after=entry.after,
            prefer_after=entry.prefer_after,
            priority=entry.priority,
            env=_NO_ENV,
            lane=entry.lane,
        )
        specs.append(replace(spec, **_rarer(entry, path=path)) if _says_more(entry) else spec)
    return specs


def _says_more(entry: TaskEntry) -> bool:
    """Look for keys that few tasks have: handing all of them on for each takes twice as long."""
    return bool(
        entry.timeout is not None
        or entry.retries
        or entry.env
        or entry.env_pass
        or entry.group is not None
        or entry.cpus
        or entry.gpus
        or entry.memory is not None
        or entry.reserve_usd
        or entry.reserve_tokens
        or entry.agent is not None
        or entry.model is not None
        or entry.check is not None
        or entry.touches
        or entry.allow_unchanged
        or entry.score is not None
        or entry.reviewer is not None
        or entry.max_review_rounds is not None
    )


def _rarer(entry: TaskEntry, *, path: str) -> dict[str, object]:
    return {
        "timeout_s": None if entry.timeout is None else _timeout(entry, path=path),
        "retries": entry.retries or 0,
        "env": _env(entry, path=path),
        "env_pass": _env_pass(entry, path=path),
        "group": _group(entry, path=path),
        "cpus": entry.cpus or 0.0,
        "gpus": entry.gpus,
        "memory_bytes": None if entry.memory is None else _memory(entry, path=path),
        "reserve_usd": entry.reserve_usd or 0.0,
        "reserve_tokens": entry.reserve_tokens or 0,
        "agent": () if entry.agent is None else _agents(entry, path=path),
        "model": _some_text(entry, "model", path=path),
        "check": _some_text(entry, "check", path=path),
        "reviewer": None if entry.reviewer is None else _reviewer(entry, path=path),
        "max_review_rounds": entry.max_review_rounds,
        "touches": _touches(entry, path=path),
        "allow_unchanged": entry.allow_unchanged or False,
        "score": None if entry.score is None else _score(entry, path=path),
    }


def _score(entry: TaskEntry, *, path: str) -> Scoring:
    try:
        return read_scoring(entry.score)
    except Unfit as why:
        raise PlanError(f"task {entry.id!r} of {path}: {why}") from None


def _reviewer(entry: TaskEntry, *, path: str) -> str | Reviewer:
    _refuse_no_agent(entry, "reviewer", path=path, hint="a reviewer reads what an agent made; check judges a command")
    try:
        return read_reviewer(entry.reviewer)
    except Unfit as why:
        raise PlanError(f"task {entry.id!r} of {path}: {why}") from None


def lane_specs(entries: Sequence[LaneEntry], *, path: str) -> Iterator[LaneSpec]:
    """Check each lane."""
    for entry in entries:
        _check_id(entry.id, what="lane", path=path)
        yield LaneSpec(id=entry.id, name=entry.name, after=entry.after)


def explicit_zeroes(entries: Sequence[TaskEntry]) -> dict[int, tuple[str, ...]]:
    """Find the keys that a task sets to 0 itself, so that a default of [run] does not replace them."""
    found = {}
    for number, entry in enumerate(entries):
        says_nothing = entry.retries is entry.reserve_usd is entry.reserve_tokens is entry.allow_unchanged is None
        zeroes = () if says_nothing else tuple(key for key in _ZEROES if getattr(entry, key) == 0)
        if zeroes:
            found[number] = zeroes
    return found


def unfit(key: str, value: object, *, what: str, owner: str, path: str, hint: str | None = None) -> PlanError:
    """Say which key of which table has a value that it cannot have, and what it takes."""
    wants = (TASK_KEYS if what == "task" else LANE_KEYS)[key].wants
    return PlanError(f"{key} of {what} {owner} in {path} is {value!r}; it takes {wants}", hint=hint)


def _unfit(key: str, entry: TaskEntry, *, path: str, hint: str | None = None) -> PlanError:
    value: object = getattr(entry, key)
    written = list(value) if isinstance(value, tuple) else value
    return unfit(key, written, what="task", owner=repr(str(entry.id)), path=path, hint=hint)


def _check_id(given: TaskId, *, what: str, path: str) -> None:
    if isinstance(given, int):
        if not -(2**63) <= given < 2**63:
            raise PlanError(f"{what} id {given} in {path} is too large a number", hint="write it as text, in quotes")
    elif not given.strip():
        raise PlanError(f"a {what} in {path} has an empty id", hint=f"give every {what} an id of its own")
    elif not given.isprintable() and any(ord(char) < 32 or 127 <= ord(char) < 160 for char in given):
        raise PlanError(f"{what} id {given!r} in {path} has control characters", hint="use letters, digits, - and _")


def _check_command(entry: TaskEntry, *, path: str) -> None:
    run = entry.run
    if isinstance(run, str):
        if not run.strip() or "\0" in run:
            raise _unfit("run", entry, path=path, hint="leave run out if there is nothing to run")
    elif run is not None and (not run or not run[0] or any("\0" in word for word in run)):
        raise _unfit("run", entry, path=path, hint="the first word of the list is the program")


def _check_function(entry: TaskEntry, function: str, *, path: str) -> None:
    if entry.run is not None:
        raise PlanError(
            f"task {str(entry.id)!r} of {path} has both run and function", hint="a task is a command or a call"
        )
    if entry.check is not None:
        raise PlanError(
            f"task {str(entry.id)!r} of {path} has both check and function",
            hint="a function can judge its own work, and raise",
        )
    if not _is_function_name(function):
        raise _unfit("function", entry, path=path, hint="the module, a colon, the function's name in it")


@lru_cache(maxsize=256)  # many tasks call the same one
def _is_function_name(text: str) -> bool:
    module, _, name = text.partition(":")
    return all(part.isidentifier() for part in (*module.split("."), *name.split(".")))


def _check_arguments(entry: TaskEntry, *, path: str) -> None:
    """Refuse what JSON cannot say: arguments are written down, and travel to the worker, as JSON."""
    if entry.function is None:
        key = "args" if entry.args else "kwargs"
        raise PlanError(
            f"task {str(entry.id)!r} of {path} has {key} but no function", hint='add function = "module:name"'
        )
    if not is_plain(list(entry.args)):
        raise _unfit("args", entry, path=path, hint="dates and the like are written as text")
    if entry.kwargs and not is_plain(entry.kwargs):
        raise _unfit("kwargs", entry, path=path, hint="dates and the like are written as text")


def _timeout(entry: TaskEntry, *, path: str) -> float:
    try:
        return seconds(entry.timeout)
    except Unfit:
        raise _unfit("timeout", entry, path=path) from None


def _memory(entry: TaskEntry, *, path: str) -> int:
    try:
        return bytes_of(entry.memory)
    except Unfit:
        raise _unfit("memory", entry, path=path) from None


def _env(entry: TaskEntry, *, path: str) -> dict[str, str]:
    env = entry.env or _NO_ENV
    for name, value in env.items():
        if not name or "=" in name or "\0" in name or "\0" in value:
            raise _unfit("env", entry, path=path, hint="a variable's name has no = in it, and nothing has a NUL byte")
    return env


def _env_pass(entry: TaskEntry, *, path: str) -> tuple[str, ...]:
    if any(not name or "=" in name or "\0" in name for name in entry.env_pass):
        raise _unfit("env_pass", entry, path=path, hint="names only; env sets values")
    return entry.env_pass


def _agents(entry: TaskEntry, *, path: str) -> tuple[str, ...]:
    names = (entry.agent,) if isinstance(entry.agent, str) else entry.agent or ()
    if not names or not all(name.strip() for name in names) or len(set(names)) < len(names):
        raise _unfit("agent", entry, path=path)
    _refuse_no_agent(entry, "agent", path=path, hint="an agent does what prompt says")
    return names


def _refuse_no_agent(entry: TaskEntry, key: str, *, path: str, hint: str) -> None:
    """Refuse what is about agents in a task that is none's."""
    if entry.run is not None or entry.function is not None:
        other = "run" if entry.run is not None else "function"
        raise PlanError(f"task {str(entry.id)!r} of {path} has both {key} and {other}", hint=hint)


def _some_text(entry: TaskEntry, key: str, *, path: str) -> str | None:
    text: str | None = getattr(entry, key)
    if text is not None and (not text.strip() or "\0" in text):
        raise _unfit(key, entry, path=path)
    return text


def _touches(entry: TaskEntry, *, path: str) -> tuple[str, ...]:
    if not all(touched.strip() for touched in entry.touches):
        raise _unfit("touches", entry, path=path)
    return entry.touches


def _group(entry: TaskEntry, *, path: str) -> str | None:
    if entry.group is not None and not entry.group.strip():
        raise _unfit("group", entry, path=path)
    return entry.group
