"""What a search that comes with budwood is made with: the options of a run, its score, and files that they name.

A strategy reads no files, so that is done here, before a run begins. Knows settings and the project; must not know how
a search decides.
"""

from collections.abc import Mapping
from inspect import signature
from pathlib import Path
from pkgutil import resolve_name

import msgspec

from budwood._core.events import RunCreated
from budwood._core.model import PLAN, RunSettings
from budwood._core.scores import Scoring
from budwood._core.state import RunState
from budwood.errors import SettingsError, UsageError
from budwood.plans import AGENT_RETRIES, AGENT_TIMEOUT_S, task_defaults
from budwood.project.ideas import hashes, ideas_differ, place_of, read_ideas
from budwood.project.place import Project
from budwood.settings import DEFAULT, Resolved
from budwood.strategies import BUILT_IN, Strategy

_SLOTS = {"beam": 1}
"""How many attempts of a search run at once where nobody says; others have the slots of agents."""
_NEEDS_SCORE = ("beam", "evolve", "mcts")
_FREE = ("one_depth", "per_node")
"""Options that may be others when a run goes on: they decide nothing."""
_AGENTS = ("agents", "judge", "idea_agent", "synthesiser")
"""Options that name agents."""


def strategy_name(resolved: Resolved) -> str:
    """Say who decides which tasks to add."""
    return resolved.text("strategy") or PLAN


def search_options(project: Project, resolved: Resolved, *, source: str) -> dict[str, object]:
    """Say what the strategy is made with; of one that comes with budwood, the score is part of that."""
    name = strategy_name(resolved)
    given = msgspec.convert(resolved.value("options"), dict[str, object])
    if name not in BUILT_IN:
        return given
    if "scoring" in given:
        raise SettingsError("scoring in [run.options] is filled in from score", hint='score = "…" in [run]')
    scoring = resolved.value("score")
    if scoring is None and name in _NEEDS_SCORE:
        raise SettingsError(f"{name} keeps what scores best, and there is no score", hint='score = "…" in [run]')
    if isinstance(scoring, Scoring):
        # As it comes back from the store: a run that goes on compares what it began with.
        given["scoring"] = msgspec.json.decode(msgspec.json.encode(scoring))
    if name == "beam" and "ideas" in given:
        given["ideas"] = _ideas(given["ideas"], where=place_of(source, root=project.root))
    return given


def _ideas(folder: object, *, where: Path) -> list[dict[str, object]]:
    if not isinstance(folder, str) or not folder:
        raise SettingsError(
            f"ideas is {folder!r}", hint='ideas = "…" in [run.options] names a folder: each file is one'
        )
    return read_ideas(folder, where=where)


def refuse_another_search(state: RunState, created: RunCreated) -> None:
    """Refuse to go on with a run under another strategy, or one that would decide otherwise."""
    differs = _differs(state, created)
    if differs:
        raise UsageError(
            f"run {state.name} keeps its strategy, and {differs}",
            hint="budwood run FILE --again makes a new run with the new one",
        )


def _differs(state: RunState, created: RunCreated) -> str:
    """Say what of a strategy is another now, and would decide otherwise."""
    if state.strategy != created.strategy:
        return f"that is {state.strategy}, not {created.strategy}"
    defaults = _defaults(state.strategy)
    for name in dict.fromkeys((*state.options, *created.options)):
        before, now = (each.options.get(name, defaults.get(name)) for each in (state, created))
        if before == now or (name in _FREE and state.strategy in BUILT_IN and type(before) is type(now)):
            continue
        if name == "ideas" and state.strategy in BUILT_IN:
            return ideas_differ(hashes(before), hashes(now))
        return _another("score" if name == "scoring" else name, before, now)
    return ""


def _another(name: str, before: object, now: object) -> str:
    """Say what an option was and is; of a table or a list of equal length, what in it is another, as it is written."""
    if isinstance(before, Mapping) and isinstance(now, Mapping):
        key = next(key for key in (*before, *now) if before.get(key) != now.get(key))
        return _another(f"{name}.{key}", before.get(key), now.get(key))
    if isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        place = next(place for place, each in enumerate(before) if each != now[place])
        return _another(f"{name}[{place}]", before[place], now[place])
    was, is_now = ("not set" if each is None else f"{each!r:.200}" for each in (before, now))
    return f"its {name} was {was} and is {is_now}"


def _defaults(strategy: str) -> dict[str, object]:
    """Return what the options of a search that comes with budwood are where nobody says."""
    if strategy not in BUILT_IN:
        return {}
    return {each.name: each.default for each in signature(resolve_name(BUILT_IN[strategy])).parameters.values()}


def refuse_no_barrier(strategy: Strategy, settings: RunSettings) -> None:
    """Refuse settings under which a search that judges whole answers would be asked before one has ended."""
    if not strategy.barrier:
        return
    if settings.window not in (None, 1):
        raise SettingsError(f"window is {settings.window}, and this strategy judges when all of an answer has ended: 1")
    if settings.order != "task":
        raise SettingsError(
            f"order is {settings.order}, and this strategy judges when all of an answer has ended: task"
        )


def named_agents(resolved: Resolved, options: Mapping[str, object]) -> tuple[str, ...]:
    """Name the agents that a search may ask beside those of the run."""
    if strategy_name(resolved) not in BUILT_IN:
        return ()
    found: list[str] = []
    for option in _AGENTS:
        named = options.get(option)
        listed = [named] if isinstance(named, str) else named if isinstance(named, list | tuple) else []
        found += [name for name in listed if isinstance(name, str) and name]
    return tuple(dict.fromkeys(found))


def refuse_nobody(settings: RunSettings, resolved: Resolved) -> None:
    """Refuse a search that nobody would make an attempt for."""
    name = strategy_name(resolved)
    if name in BUILT_IN and not settings.agents:
        raise SettingsError(
            f"{name} asks agents, and none is named",
            hint='agent = "claude" in [run], or --agent claude; budwood doctor shows which are here',
        )


def search_defaults(strategy: str, resolved: Resolved) -> dict[str, object]:
    """Collect what the tasks of a strategy get that they do not say themselves.

    What is scored, a search that comes with budwood says itself; its agents have the limits of agents.
    """
    found = task_defaults(resolved)
    if strategy in BUILT_IN:
        found.pop("score", None)
        found.setdefault("timeout_s", AGENT_TIMEOUT_S)
        if resolved.origin("retries") == DEFAULT:
            found["retries"] = AGENT_RETRIES
    return found


def with_search_slots(settings: RunSettings, resolved: Resolved) -> RunSettings:
    """Give a search its own number of slots, where nobody says."""
    slots = _SLOTS.get(strategy_name(resolved))
    if slots is None or resolved.origin("slots") != DEFAULT:
        return settings
    return msgspec.structs.replace(settings, slots=slots)
