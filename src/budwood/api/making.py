"""From a call or a command to a task: its name, its id, its arguments, each refused at once if it cannot work.

Knows functions and the rules of plan files. Must not know runs or projects: whether a worker finds a module is
`importable`'s.
"""

import hashlib
import inspect
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from os.path import isfile

import msgspec

from budwood._core.ids import safe_name
from budwood._core.model import TaskId, TaskSpec
from budwood._core.plain import is_plain
from budwood._core.suggest import did_you_mean
from budwood.errors import SettingsError, UsageError
from budwood.plans.entries import PlanFile
from budwood.plans.explain import explain
from budwood.plans.specs import task_specs

MAIN = "__main__"
"""Stands for the program's own script until a run says where its workers import from."""
WHERE = "Python"
_MOST_CHARS = 40
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_INTO_A_MODULE = "put it into a module (a file such as work.py), at its top level, and import it from there"
_ENCODER = msgspec.json.Encoder(order="sorted")


def make_call(
    function: Callable[..., object] | str,
    args: Sequence[object],
    kwargs: Mapping[str, object],
    *,
    id: TaskId | None,
    after: Iterable[TaskId | TaskSpec],
    keys: Mapping[str, object],
) -> TaskSpec:
    """Make a task of a call that can work; programs make hundreds of thousands, so that little is done for each."""
    name = function if isinstance(function, str) else name_of(function)
    named = None if isinstance(function, str) else function
    if named is not None and (problem := _misfit(named, len(args), frozenset(kwargs))) is not None:
        raise UsageError(f"{name} cannot be called like this: {problem}", hint=f"it takes {_signature(named)}")
    if not all(map(is_plain, chain(args, kwargs.values()))):
        raise _no_json(name, named, args, kwargs)
    made_up = call_id(name, args, kwargs) if id is None else id
    return make_task({"id": made_up, "function": name, "args": list(args), "kwargs": kwargs}, after, keys)


def make_task(what: Mapping[str, object], after: Iterable[TaskId | TaskSpec], keys: Mapping[str, object]) -> TaskSpec:
    """Check everything as in a plan file, and put it together."""
    from budwood.api.calls import refuse_unknown_keys

    if keys:
        refuse_unknown_keys(keys)
    if isinstance(after, str | TaskSpec):
        raise UsageError("after takes a list of tasks or ids", hint="put it into brackets: after=[…]")
    ids = [each.id if isinstance(each, TaskSpec) else each for each in after]
    table = {**what, "after": ids, **{name: _written(value) for name, value in keys.items()}}
    tables = {"task": [table]}
    try:
        file = msgspec.convert(tables, PlanFile)
    except msgspec.ValidationError as problem:
        raise explain(tables, problem, path=WHERE) from None
    [spec] = task_specs(file.task, path=WHERE)
    return spec


def _written(value: object) -> object:
    """Give tuples and other mappings the types that a file's values have."""
    if isinstance(value, Mapping):
        return dict(value)
    return list(value) if isinstance(value, Sequence) and not isinstance(value, str | bytes) else value


def unknown_key(name: str, known: Iterable[str], *, of: str) -> SettingsError:
    """Say that something has no such key, and which may be meant."""
    names = list(known)
    return SettingsError(
        f"unknown key {name!r} of {of}", hint=did_you_mean(name, names) or f"{of} has: {', '.join(names)}"
    )


# --- functions ---


def name_of(function: Callable[..., object]) -> str:
    """Name a function as a worker can find it, or say why none can."""
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(name, str):
        raise UsageError(f"{function!r} has no name that a worker could import", hint=_INTO_A_MODULE)
    if getattr(function, "__self__", None) is not None and not inspect.isbuiltin(function):
        raise UsageError(
            f"{name} is a method of an object, which a worker does not have",
            hint="make it a function at the top level of a module, and hand over what it needs as arguments",
        )
    if "<" in name:
        what = "a lambda" if name.endswith("<lambda>") else "defined inside another function"
        raise UsageError(f"{name.rpartition('.')[2]} is {what}: a worker cannot import it", hint=_INTO_A_MODULE)
    if module == MAIN:
        _refuse_no_script(name)
    _refuse_other(function, module, name)
    return f"{module}:{name}"


def _refuse_no_script(name: str) -> None:
    main = sys.modules[MAIN]
    if getattr(main, "__spec__", None) is None and not isfile(getattr(main, "__file__", None) or ""):
        raise UsageError(
            f"{name} is defined in a notebook or at a prompt: a worker cannot import it",
            hint="put it into a module (in a notebook, %%writefile work.py does it) and import it from there",
        )


def _refuse_other(function: Callable[..., object], module: str, name: str) -> None:
    """Refuse a function whose name means something else by now: the worker would call that."""
    found: object = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    if found is function:
        return
    if inspect.unwrap(found) is not inspect.unwrap(function) if callable(found) else True:
        raise UsageError(
            f"{module}:{name} is not this function, so a worker would not find it",
            hint="give it a name of its own at the top level of its module",
        )


def _signature(function: Callable[..., object]) -> inspect.Signature | None:
    try:
        return inspect.signature(function)
    except (ValueError, TypeError):  # some functions written in C have none
        return None


@lru_cache(maxsize=256)  # whether a call fits depends on how many arguments there are and on names, not on values
def _misfit(function: Callable[..., object], count: int, names: frozenset[str]) -> str | None:
    """Say why the function would refuse a call."""
    signature = _signature(function)
    try:
        if signature is not None:
            signature.bind(*(None,) * count, **dict.fromkeys(names))
    except TypeError as error:
        return str(error)
    return None


def _no_json(
    name: str, function: Callable[..., object] | None, args: Sequence[object], kwargs: Mapping[str, object]
) -> UsageError:
    """Say which argument would not arrive as it is: they are kept, and travel to workers, as JSON."""
    signature = None if function is None else _signature(function)
    names = [] if signature is None else list(signature.parameters)
    numbered = ((names[place] if place < len(names) else str(place + 1), value) for place, value in enumerate(args))
    what, value = next((what, value) for what, value in chain(numbered, kwargs.items()) if not is_plain(value))
    return UsageError(
        f"argument {what} of {name} is {_shown(value)}, which is no JSON",
        hint="pass numbers, text, True, False, None, lists and dicts with text as keys; a path as text",
    )


def _shown(value: object) -> str:
    text = repr(value)
    return f"{type(value).__name__} {text}" if len(text) <= 80 else f"a {type(value).__name__}"


# --- ids that nobody gave ---


def call_id(name: str, args: Sequence[object], kwargs: Mapping[str, object]) -> str:
    """Make an id of the call itself, so that it is the same whenever and in whichever order tasks are made."""
    stem = name[max(name.rfind("."), name.rfind(":")) + 1 :] or "call"
    parts = [_readable(value) for value in args]
    parts += [None if (text := _readable(value)) is None else f"{key}={text}" for key, value in kwargs.items()]
    told = "-".join([stem, *(part for part in parts if part is not None)])
    if None in parts or len(told) > _MOST_CHARS:
        return f"{stem}-{_digest([list(args), kwargs])}"
    return told


def _readable(value: object) -> str | None:
    """Write what can be told apart from every other value in a few characters."""
    if isinstance(value, str):
        return value if _WORD.fullmatch(value) and value not in ("True", "False", "None") else None
    return repr(value) if value is None or isinstance(value, bool | int | float) else None


def command_id(run: str | Sequence[str]) -> str:
    """Make an id of a command."""
    text = run if isinstance(run, str) else " ".join(run)
    name = safe_name(text, fallback="command")
    return name if len(name) <= _MOST_CHARS else f"{name[:_MOST_CHARS].strip('-')}-{_digest(text)}"


def _digest(value: object) -> str:
    return hashlib.sha256(_ENCODER.encode(value)).hexdigest()[:8]
