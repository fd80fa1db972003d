"""Agents by name: those that come with budwood, and those that other packages bring.

A package adds one by an entry point of the group `budwood.agents` whose object is a subclass of `Agent`. Built-in ones
are imported when they are asked for, and their names cannot be taken.
Knows names; must not know what an agent does.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from budwood._core.suggest import did_you_mean
from budwood.agents.base import AS_IT_COMES, Agent, Overrides
from budwood.errors import BudwoodError, UsageError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint, EntryPoints

GROUP = "budwood.agents"
_BUILT_IN = {
    "aider": "budwood.agents.aider:Aider",
    "claude": "budwood.agents.claude:Claude",
    "codex": "budwood.agents.codex:Codex",
    "command": "budwood.agents.command:Command",
    "gemini": "budwood.agents.gemini:Gemini",
    "model": "budwood.agents.own:Model",
    "opencode": "budwood.agents.opencode:Opencode",
    "script": "budwood.agents.own:Script",
}


def agent_names() -> tuple[str, ...]:
    """Name every agent that can be asked for, in order."""
    return tuple(sorted({*_BUILT_IN, *_brought().names}))


def agent_named(name: str, overrides: Overrides = AS_IT_COMES) -> Agent:
    """Make the agent of this name, as the configuration has it."""
    built_in = _BUILT_IN.get(name)
    if built_in is not None:
        module, _, attribute = built_in.partition(":")
        return _made(getattr(import_module(module), attribute), overrides, whose=f"agent {name}")
    points = list(_brought().select(name=name))
    if not points:
        hint = did_you_mean(name, agent_names()) or f"agents are {', '.join(agent_names())}"
        raise UsageError(f"there is no agent {name!r}", hint=hint)
    if len({point.value for point in points}) > 1:
        raise UsageError(
            f"agent {name} comes from more than one package: {', '.join(sorted(map(_package, points)))}",
            hint="uninstall all but one of them",
        )
    whose = f"agent {name} of package {_package(points[0])}"
    return _made(_loaded(points[0], whose), overrides, whose=whose)


def _brought() -> "EntryPoints":
    from importlib.metadata import entry_points  # where all agents are built in, a run starts sooner without it

    return entry_points(group=GROUP)


def _loaded(point: "EntryPoint", whose: str) -> object:
    try:
        return point.load()
    except Exception as error:
        raise UsageError(
            f"{whose} cannot be loaded from {point.value}: {type(error).__name__}: {error}",
            hint="update or uninstall that package",
        ) from error


def _made(found: object, overrides: Overrides, *, whose: str) -> Agent:
    if not (isinstance(found, type) and issubclass(found, Agent)):
        raise UsageError(f"{whose} is no subclass of budwood.agents.Agent", hint="update or uninstall that package")
    try:
        return found(overrides)
    except BudwoodError:
        raise
    except Exception as error:
        raise UsageError(
            f"{whose} cannot be made: {type(error).__name__}: {error}", hint="update or uninstall that package"
        ) from error


def _package(point: "EntryPoint") -> str:
    return point.dist.name if point.dist is not None else point.value
