"""The MCP server in the hands of agents: registered in each program's own form, started by it, and of use."""

import json

import pytest
from tests.workshop.site import Site
from tests.workshop.test_agents import asking
from tests.workshop.test_agents import site as site_with_fakes

from budwood._core.events import TaskCreated
from budwood._core.model import AttemptPhase
from budwood.mcp.tools import TOOLS

__all__ = ["site_with_fakes"]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]
NAMES = ("claude", "codex", "gemini", "opencode")


def test_four_agents_find_the_server_as_they_are_told_of_it_and_create_tasks(site_with_fakes: Site) -> None:
    site = site_with_fakes
    site.agents(*(asking(name, "behave: mcp", agent=name) for name in NAMES), mcp=True)
    before = site.belongings()
    site.call("run", "plan.toml")
    for name in NAMES:
        end = site.end_of(name)
        assert end.phase is AttemptPhase.SUCCEEDED, end.error
        assert end.left is not None
        told = json.loads(site.git("show", f"{end.left.candidate}:tools.txt"))
        assert (told["tools"], told["task"]) == (list(TOOLS), name)
    made = [event for event in site.events() if isinstance(event, TaskCreated)]
    assert {each.parent for each in made} == set(NAMES)
    assert site.state().counts["done"] == 8  # type: ignore[index]
    assert "further.txt" in site.candidate(site.end_of(str(made[0].task.id)))
    assert site.belongings() == before


def test_without_being_asked_for_it_is_not_there(site_with_fakes: Site) -> None:
    site = site_with_fakes
    site.agents(*(asking(name, "behave: mcp", agent=name) for name in NAMES))
    site.call("run", "plan.toml", code=1)
    assert {site.end_of(name).phase for name in NAMES} == {AttemptPhase.FAILED}
