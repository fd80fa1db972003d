"""Who does the tasks of a plan: each task's agents and model, and the terms on which a run has them.

Knows plans, agents' configurations and what of agents is on this machine. Must not start anything.
"""

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from budwood._core.model import AgentTerms, Reviewer, RunSettings, TaskSpec
from budwood.agents.base import Ability
from budwood.agents.config import AgentConfig, AgentSettings
from budwood.agents.finding import billing_of, find_login, find_program
from budwood.agents.making import make_agent
from budwood.agents.rules import Choice, choose
from budwood.errors import PlanError, UsageError
from budwood.plans import AGENT_RETRIES, AGENT_TIMEOUT_S, Plan
from budwood.project.agents import agent_settings
from budwood.project.place import Project
from budwood.settings import DEFAULT, Resolved

AGENT_SLOTS = 3


def man(
    plan: Plan,
    settings: RunSettings,
    project: Project,
    resolved: Resolved,
    *,
    others: Sequence[str] = (),
    refuse: bool = True,
) -> tuple[Plan, RunSettings]:
    """Give every task with a prompt its agents, and the run its terms with them; refuse tasks that nobody would do.

    `others` are agents that a strategy may ask.
    """
    agents = agent_settings(resolved)
    tasks = tuple(
        _manned(task, number, plan, agents=agents, resolved=resolved, refuse=refuse)
        for number, task in enumerate(plan.tasks)
    )
    names = dict.fromkeys(name for task in tasks for name in task.asks)
    names.update(dict.fromkeys((*_default(resolved), *others)))
    slots = AGENT_SLOTS if names and resolved.origin("slots") == DEFAULT else settings.slots
    names.update(dict.fromkeys(settings.resolve))
    manned = msgspec.structs.replace(
        settings,
        slots=slots,
        agents={name: _terms(name, agents, project) for name in names},
        prices={model: _plain(price) for model, price in agents.prices.items()},
    )
    return replace(plan, tasks=tasks), manned


def refuse_missing(
    settings: RunSettings, tasks: Sequence[TaskSpec], project: Project, *, others: Sequence[str] = ()
) -> None:
    """Refuse agents whose programs are not on this machine, before anything starts."""
    named = (*(name for task in tasks for name in task.asks), *others, *settings.resolve)
    for name in dict.fromkeys(named):
        agent = make_agent(msgspec.convert(settings.agents[name].config, AgentConfig), python=sys.executable)
        program = agent.version_argv[0]
        if find_program(program, project.environ.get("PATH", "")) is None:
            raise UsageError(
                f"agent {name} is not installed: there is no program {program} on the PATH",
                hint="budwood doctor shows which agents are here",
            )


def with_agents(settings: RunSettings, names: Sequence[str], project: Project, resolved: Resolved) -> RunSettings:
    """Give a run terms with agents that it did not have; refused if one is not here."""
    agents = agent_settings(resolved)
    new = {name: _terms(name, agents, project) for name in names if name not in settings.agents}
    wider = msgspec.structs.replace(settings, agents=settings.agents | new, resolve=tuple(names))
    refuse_missing(wider, (), project)
    return wider


def without_tools(settings: RunSettings) -> list[str]:
    """Say which agents of a run that has `mcp` will not have the tools."""
    configs = {name: msgspec.convert(terms.config, AgentConfig) for name, terms in settings.agents.items()}
    agents = {name: make_agent(config, python=sys.executable) for name, config in configs.items()}
    cannot = [name for name, agent in agents.items() if Ability.MCP not in agent.abilities]
    if not agents:
        return ["mcp is set, and no task is an agent's"]
    return [f"mcp is set, and these agents take no MCP server: {', '.join(cannot)}"] if cannot else []


def _manned(
    task: TaskSpec, number: int, plan: Plan, *, agents: AgentSettings, resolved: Resolved, refuse: bool
) -> TaskSpec:
    if task.run is not None or task.function is not None:
        return task
    if not task.prompt.strip():
        if not refuse:
            return task
        raise PlanError(
            f"task {str(task.id)!r} of {plan.path} has nothing to do: no run, no function, no prompt",
            hint='give it one: run = "…" is a command, prompt = "…" is for an agent',
        )
    asked = Choice(agent=task.agent[0] if len(task.agent) == 1 else None, model=task.model)
    lane = "" if task.lane is None else str(task.lane)
    chosen = choose(agents.model_rules, asked, task=str(task.id), lane=lane, description=task.description)
    names = task.agent or ((chosen.agent,) if chosen.agent is not None else ())
    if not names and not refuse:
        return task
    if not names:
        raise PlanError(
            f"task {str(task.id)!r} of {plan.path} has a prompt and no agent",
            hint='agent = "claude" in [run], or --agent claude, names one for all; budwood doctor shows which are here',
        )
    for name in (*names, *task.asks):
        agents.config(name)
    explicit = plan.explicit.get(number, ())
    unset = resolved.origin("retries") == DEFAULT and "retries" not in explicit and not task.retries
    return msgspec.structs.replace(
        task,
        agent=names,
        model=chosen.model,
        timeout_s=AGENT_TIMEOUT_S if task.timeout_s is None else task.timeout_s,
        retries=AGENT_RETRIES if unset else task.retries,
    )


def _default(resolved: Resolved) -> tuple[str, ...]:
    """Name the agents that tasks may have which are not known yet."""
    agents = msgspec.convert(resolved.value("agent") or (), tuple[str, ...])
    reviewer = resolved.value("reviewer")
    return (*agents, *((reviewer.agent,) if isinstance(reviewer, Reviewer) else ()))


def _terms(name: str, agents: AgentSettings, project: Project) -> AgentTerms:
    config = agents.config(name)
    agent = make_agent(config, python=sys.executable, prices=agents.prices)
    home = Path(project.environ.get("HOME") or os.path.expanduser("~"))
    login = find_login(agent, project.environ, home=home)
    return AgentTerms(
        account=agent.account,
        subscription=billing_of(config.billing, login) == "subscription",
        config=msgspec.to_builtins(config),
    )


def _plain(price: msgspec.Struct) -> dict[str, float]:
    found: dict[str, float | None] = msgspec.to_builtins(price)
    return {name: value for name, value in found.items() if value is not None}
