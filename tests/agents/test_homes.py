"""What of the home directory agents need."""

from pathlib import Path

import pytest

from budwood.agents.base import Overrides
from budwood.agents.homes import places_of
from budwood.agents.registry import agent_named, agent_names

HOME = Path("/home/u")


def test_claude_has_its_state_and_keeps_its_settings() -> None:
    places = places_of(agent_named("claude"), {}, home=HOME)
    assert places.writes == (HOME / ".claude", HOME / ".claude.json")
    assert HOME / ".claude" / "settings.json" in places.reads


def test_state_that_a_variable_moves_is_where_it_says() -> None:
    places = places_of(agent_named("codex"), {"CODEX_HOME": "/state/codex"}, home=HOME)
    assert places.writes == (Path("/state/codex"),)
    assert Path("/state/codex/config.toml") in places.reads


def test_state_of_the_attempts_own_needs_nothing() -> None:
    places = places_of(agent_named("claude", Overrides(own_state=True)), {}, home=HOME)
    assert (places.reads, places.writes) == ((), ())


@pytest.mark.parametrize("name", [name for name in agent_names() if name not in ("command", "model")])
def test_no_agent_is_shown_the_home_directory_itself_or_keys(name: str) -> None:
    places = places_of(agent_named(name, Overrides(python="python")), {}, home=HOME)
    assert not {HOME, HOME / ".ssh", HOME / ".config", HOME / ".local"} & {*places.reads, *places.writes}
    assert all(path.is_relative_to(HOME) for path in (*places.reads, *places.writes))
