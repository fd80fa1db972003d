"""What a program gives `start` and `resume`, made into what plans and settings know: flags, tasks, a strategy's name.

Knows the tables of keys and the project. Must not begin anything.
"""

import os
import sys
import weakref
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import msgspec

from budwood._core.model import RunSettings, TaskSpec
from budwood.api.importable import Importable
from budwood.api.keys import RunKeys
from budwood.api.making import MAIN, unknown_key
from budwood.errors import PlanError, SettingsError, UsageError
from budwood.project.place import Project, find_project, this_machine
from budwood.project.strategy import object_name
from budwood.settings import KEYS, Scope, run_settings
from budwood.settings.kinds import Unfit
from budwood.strategies import Strategy
from budwood.strategies.base import made_with

Place = str | os.PathLike[str]
_KEPT = ("seed", "window", "order", "options")
"""What a run keeps from its beginning on."""
_led: dict[int, weakref.ref[Strategy]] = {}
"""Strategies that were told of a run, by identity: a class of the user's need not be hashable."""


def project_at(directory: Place | None) -> Project:
    """Return the project of a directory, exactly that one; without one, the project that the program stands in."""
    if directory is None:
        return find_project()
    root = Path(directory).resolve()
    if not root.is_dir():
        raise UsageError(f"there is no directory {root}", hint="make it, or leave directory out")
    return Project(root=root, environ=dict(os.environ))


def flags_of(settings: RunKeys, *, of: str) -> dict[str, object]:
    """Check settings that were given by name; they count as flags do."""
    flags: dict[str, object] = {}
    for name, given in settings.items():
        if name not in RunKeys.__annotations__:
            raise unknown_key(name, RunKeys.__annotations__, of=of)
        flags[name] = flag_of(name, given)
    return flags


def flag_of(name: str, given: object) -> object:
    """Check one setting that was given by its name."""
    value = dict(given) if isinstance(given, Mapping) else given
    try:
        if value is not None:
            KEYS[name].kind.read(value)
    except Unfit as why:
        said = str(why) or f"{name} is {given!r}; it takes {KEYS[name].kind.wants}"
        raise SettingsError(said) from None
    return value


def refuse_unfit(*, strategy: object, on_event: object) -> None:
    """Refuse what is no strategy, and what cannot be called."""
    if isinstance(strategy, type):
        raise UsageError(
            f"strategy is the class {strategy.__name__}; it takes an object of one",
            hint=f"make one: strategy={strategy.__name__}(…)",
        )
    if strategy is not None and not isinstance(strategy, Strategy | str):
        raise UsageError(f'strategy is {strategy!r}; it takes an object of a budwood.Strategy, or "module:Class"')
    if on_event is not None and not callable(on_event):
        raise UsageError(f"on_event is {on_event!r}; it takes a function that is called with each event")


def changes_of(settings: RunKeys, project: Project) -> dict[str, object]:
    """Turn settings for a run that goes on into the fields of RunSettings that change."""
    flags = flags_of(settings, of="budwood.resume()")
    for name in flags:
        if name in _KEPT:
            raise SettingsError(f"a run keeps its {name}", hint="budwood.start(…, again=True) makes a new run")
        if KEYS[name].scope is Scope.TASK:
            raise SettingsError(
                f"{name} is said of tasks, and those of a run that goes on are what they are",
                hint="start the plan or the tasks again with it: what changed is run, what was done stays done",
            )
    resolved = run_settings(project.resolve(flags=flags), this_machine())
    fields = {KEYS[name].target for name, value in flags.items() if value is not None}
    return {field: getattr(resolved, field) for field in fields}


def with_python(settings: RunSettings, *, is_given: bool) -> RunSettings:
    """Let functions be called by this very interpreter, unless somebody named another."""
    if not settings.python or is_given:
        return settings
    return msgspec.structs.replace(settings, python=sys.executable)


def completing(project: Project, defaults: Mapping[str, object]) -> Callable[[TaskSpec], TaskSpec]:
    """Return what gives a task modules by names that the run's workers import; all tasks get `defaults` later."""
    return Importable(project.root, defaults).complete


def tasks_of(given: object, complete: Callable[[TaskSpec], TaskSpec]) -> tuple[TaskSpec, ...]:
    """Check that these are tasks, each with an id of its own, and complete them."""
    if not isinstance(given, Iterable):
        what = f"the task {given.id!r}" if isinstance(given, TaskSpec) else f"{given!r}"
        raise UsageError(
            f"budwood.start() was given {what}; it takes a plan file's path, or a list of tasks",
            hint="budwood.start([…]) starts tasks, a single one too; budwood.start(strategy=…) a strategy",
        )
    tasks: dict[str, TaskSpec] = {}
    for task in given:
        if not isinstance(task, TaskSpec):
            name = getattr(task, "__name__", None)
            if name is None:
                hint = "where it is what a function has returned: square(3) calls it here, square.task(3) makes a task"
                raise UsageError(f"{task!r:.80} is no task", hint=hint)
            raise UsageError(
                f"{name} is no task",
                hint=f"{name}.task(…) makes one of a call, with @budwood.task; budwood.command(…) one of a command",
            )
        if str(task.id) in tasks:
            raise PlanError(
                f"there are two tasks {task.id!r}",
                hint=f'equal calls get equal ids; give each its own: .options(id="{task.id}-2").task(…), or id=…',
            )
        tasks[str(task.id)] = complete(task)
    return tuple(tasks.values())


# --- strategies ---


def flags_of_strategy(strategy: Strategy, root: Path) -> dict[str, object]:
    """Name a strategy so that `budwood resume` can make it again: its class, and what it was made with."""
    kind = type(strategy)
    module = kind.__module__
    if module == MAIN and getattr(sys.modules[MAIN], "__file__", None) is not None:
        module = Importable(root).module(MAIN)
    name, options = f"{module}:{kind.__qualname__}", made_with(strategy)
    if options is None or kind.__qualname__ != kind.__name__:  # a class inside another or a function has no such name
        return {"strategy": object_name(name), "options": {}}
    return {"strategy": name, "options": dict(options)}


def refuse_led(strategy: Strategy) -> None:
    """Refuse an object that has led a run: it knows things that it would be told once more."""
    known = _led.get(id(strategy))
    if known is not None and known() is strategy:
        raise UsageError(
            f"this {type(strategy).__name__} has led a run already, and knows too much for another",
            hint="make a new object of it; what the run came to is told to that from the store",
        )


def note_led(strategy: Strategy) -> None:
    """Note that an object leads a run now."""
    key = id(strategy)

    def forget(_: object) -> None:
        _led.pop(key, None)

    _led[key] = weakref.ref(strategy, forget)
