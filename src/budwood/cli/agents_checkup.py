"""What of each agent is on this machine: the known ones, and those that the settings make.

Asks programs for their versions, several at once. Must not let them work, nor show a key.
"""

import os
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

from budwood.agents.base import Agent
from budwood.agents.config import AgentConfig, AgentSettings
from budwood.agents.finding import LoginState, Sighting, billing_of, look_for
from budwood.agents.making import make_agent
from budwood.agents.registry import agent_names
from budwood.cli.checkup import Finding, State
from budwood.errors import BudwoodError
from budwood.project.agents import agent_settings
from budwood.project.place import Project

_AT_ONCE = 8
_NEEDS_SETTINGS = ("command", "model")
"""What is nothing as long as no table of the settings says what it is."""


class AgentFinding(Finding, frozen=True, kw_only=True):
    """One agent that was looked at."""

    agent: str
    program: str | None = None
    version: str | None = None
    tried: bool = False
    login: LoginState = LoginState.UNKNOWN
    login_at: str = ""
    billing: str | None = None


def settings(project: Project) -> tuple[AgentSettings, list[Finding]]:
    """Read what is configured about agents, and say what is wrong with it, if anything is."""
    try:
        resolved = project.resolve(flags={})
    except BudwoodError:
        return AgentSettings(), []  # who looks at the store tells that
    try:
        return agent_settings(resolved), []
    except BudwoodError as error:
        wrong = Finding(name="settings", state="warning", text=error.message, fix=error.hint or "correct the file")
        return AgentSettings(), [wrong]


def agents(project: Project, configured: AgentSettings, *, timeout_s: float) -> list[AgentFinding]:
    """Look at every agent; one whose program is not there is a fault only if the settings name it."""
    configs = [configured.config(name) for name in _names(configured)]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        looks = [pool.submit(_look, config, configured, project, timeout_s=timeout_s) for config in configs]
        return [look.result() for look in looks]


def _names(configured: AgentSettings) -> Iterable[str]:
    return sorted({*agent_names()} - {*_NEEDS_SETTINGS} | {*configured.agents})


def _look(config: AgentConfig, configured: AgentSettings, project: Project, *, timeout_s: float) -> AgentFinding:
    try:
        agent = make_agent(config, python=sys.executable, prices=configured.prices)
    except BudwoodError as error:
        return AgentFinding(
            name=config.name,
            agent=config.agent,
            state="warning",
            text=error.message,
            fix=error.hint or "correct its table",
        )
    home = Path(project.environ.get("HOME") or os.path.expanduser("~"))
    seen = look_for(agent, project.environ, home=home, timeout_s=timeout_s)
    is_meant = config.name in configured.agents
    state, fix = _verdict(agent, seen, is_meant=is_meant)
    billing = None if seen.program is None else billing_of(config.billing, seen.login)
    return AgentFinding(
        name=config.name,
        agent=config.agent,
        state=state,
        text=_text(agent, config, seen, billing),
        fix=fix,
        program=None if seen.program is None else str(seen.program),
        version=seen.version,
        tried=seen.is_tried,
        login=seen.login.state,
        login_at=seen.login.at,
        billing=billing,
    )


def _verdict(agent: Agent, seen: Sighting, *, is_meant: bool) -> tuple[State, str | None]:
    """Say how it stands, and what would help."""
    if seen.program is None:
        return ("warning", "install it, or name it: command = […] in its table") if is_meant else ("absent", None)
    if seen.problem:
        return "warning", f"try it by hand: {' '.join(agent.version_argv)}"
    if agent.takes_chat and find_spec("httpx") is None:
        return "warning", "pip install 'budwood[model]'"
    if seen.login.state is LoginState.NONE:
        keys = " or ".join(agent.login.keys[:2])
        return "warning", f"set {keys}" + (f", or log in with {agent.program}" if agent.login.files else "")
    return ("ok" if seen.is_tried or seen.version is None else "unknown"), None


def _text(agent: Agent, config: AgentConfig, seen: Sighting, billing: str | None) -> str:
    if seen.program is None or seen.problem:
        return seen.problem
    version = "" if seen.version is None else f"{seen.version} "
    parts = [f"{f'{config.agent} ' if config.agent != config.name else ''}{version}at {seen.program}"]
    if seen.version is not None and not seen.is_tried:
        parts.append(f"this version was never tried, {' and '.join(agent.tried)} was")
    match seen.login.state:
        case LoginState.KEY:
            parts.append(f"key in {seen.login.at}, {billing}")
        case LoginState.SUBSCRIPTION:
            parts.append(f"login in {seen.login.at}, {billing}")
        case LoginState.NONE:
            parts.append("no login found")
    return "; ".join(parts)
