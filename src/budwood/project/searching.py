"""What a search that comes with budwood is made with: the options of a run, its score, and files that they name.

A strategy reads no files, so that is done here, before a run begins. Knows settings and the project; must not know how
a search decides.
"""

from collections.abc import Mapping

import msgspec

from budwood._core.model import PLAN, RunSettings
from budwood._core.scores import Scoring
from budwood.errors import SettingsError
from budwood.plans import AGENT_RETRIES, AGENT_TIMEOUT_S, task_defaults
from budwood.project.place import Project
from budwood.settings import DEFAULT, Resolved
from budwood.strategies import BUILT_IN

_SLOTS = {"beam": 1}
"""How many attempts of a search run at once where nobody says; others have the slots of agents."""
_NEEDS_SCORE = ("beam", "mcts")
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
        given["scoring"] = msgspec.to_builtins(scoring)
    return given


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
