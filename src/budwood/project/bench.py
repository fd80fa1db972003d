"""The bench of a run: its pool, its agents, and where their things lie.

Knows the project and the engine's bench; must not know plans.
"""

import sys
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache, partial

import msgspec

from budwood._core.model import Left, Reviewer, RunSettings
from budwood.agents.base import Agent, Price
from budwood.agents.config import AgentConfig
from budwood.agents.making import make_agent
from budwood.agents.prompts import Briefing, Note, Result, prompt_for
from budwood.agents.review_prompts import ReviewBriefing, review_prompt_for
from budwood.agents.serving import VARIABLES, WAIT, Server
from budwood.engine.workshop.bench import Bench, Means
from budwood.engine.workshop.orders import Dependency, Order
from budwood.engine.workshop.outfit import Outfitter
from budwood.errors import InternalError
from budwood.executors.local import RunPaths
from budwood.project.place import Project, state_home
from budwood.project.sandbox import make_sandbox
from budwood.project.workspaces import Ground, find_ground, make_pool, pool_folder
from budwood.review.changes import write_out
from budwood.sandbox.door import RELAY
from budwood.workspaces.ports import Ports

SERVER = (sys.executable, "-P", "-m", "budwood", "mcp", "--wait", WAIT)
"""What starts the MCP server: this very installation, and never a package that lies in a workspace."""


def run_refs(name: str, run: str) -> str:
    """Name where the refs of a run are: its name for people, its id because two stores may know one repository."""
    return f"refs/budwood/{name}-{run}"


def make_bench(project: Project, paths: RunPaths, *, run: str, name: str, settings: RunSettings) -> Bench:
    """Make what serves the attempts of a run that has workspaces."""
    terms = settings.workspace
    if terms is None:
        raise InternalError(f"run {name} has no workspaces")
    ground = find_ground(project, terms.kind)
    refs = run_refs(name, run)
    ground.repository.set_ref(f"{refs}/base", terms.base)
    configs = {agent: msgspec.convert(each.config, AgentConfig) for agent, each in settings.agents.items()}
    prices = msgspec.convert(settings.prices, dict[str, Price])

    sandbox = make_sandbox(project, paths, ground, settings, server=SERVER if settings.mcp else ())
    server = Server(SERVER, VARIABLES) if sandbox is None else Server(RELAY)

    @cache
    def agent_of(agent: str) -> Agent:
        mcp = server if settings.mcp else None
        return make_agent(configs[agent], python=sys.executable, prices=prices, mcp=mcp)

    means = Means(
        repository=ground.repository,
        pool=make_pool(ground, terms, folder=pool_folder(ground, settings.pool)),
        ports=Ports(state_home() / "ports"),
        outfitter=Outfitter(
            paths.run_dir / "agents",
            terms=terms,
            subdir=ground.subdir,
            environ=project.environ,
            identity=ground.repository.identity(),
            configs=configs,
            agent_of=agent_of,
            write_prompt=_prompts(ground, agent_of, configs),
            write_review=_reviews(ground, agent_of),
            others_of=partial(_others, ground),
            sandbox=sandbox,
        ),
        agent_of=agent_of,
        attempts=paths.attempts,
        zone=datetime.now().astimezone().tzinfo or UTC,
        watches=ground.in_git,
    )
    return Bench(run, name, refs=refs, settings=settings, means=means)


def _others(ground: Ground, order: Order) -> dict[str, str]:
    """Write what each of those changed that an agent may read."""
    git = ground.repository.git
    return {str(each.task): write_out(git, each.base, each.candidate).decode(errors="replace") for each in order.reads}


def _reviews(ground: Ground, agent_of: Callable[[str], Agent]) -> Callable[[Order, Left, str], str]:
    def write(order: Order, left: Left, verdict: str) -> str:
        assert isinstance(order.reviewer, Reviewer)
        briefing = ReviewBriefing(
            task=order.text,
            verdict=verdict,
            focus=order.reviewer.prompt,
            goal=order.goal,
            check=order.check or "",
            revision=order.wish,
            changes=write_out(ground.repository.git, left.began, left.candidate).decode(errors="replace"),
        )
        return review_prompt_for(agent_of(order.reviewer.agent), briefing)

    return write


def _prompts(
    ground: Ground, agent_of: Callable[[str], Agent], configs: dict[str, AgentConfig]
) -> Callable[[Order], str]:
    def files_of(dependency: Dependency) -> tuple[str, ...]:
        words = ("diff-tree", "-r", "-z", "--name-only", dependency.base, dependency.candidate)
        return tuple(name for name in ground.repository.git.ask(*words).split("\0") if name)

    def write(order: Order) -> str:
        briefing = Briefing(
            task=order.text,
            goal=order.goal,
            results=tuple(
                Result(task=str(each.task), description=each.description, files=files_of(each))
                for each in order.dependencies
            ),
            notes=tuple(Note(attempt=note.attempt, ended=note.ended, output=note.check_said) for note in order.notes),
            others=_others(ground, order),
            revision=order.wish,
            check=order.check or "",
        )
        return prompt_for(agent_of(order.agent), briefing, template=configs[order.agent].prompt_template)

    return write
