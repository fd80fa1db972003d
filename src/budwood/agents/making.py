"""From a configuration to an agent; what an agent cannot keep to is refused, not dropped.

Knows configurations and the contract of agents; must not know any agent by name, nor read the environment.
"""

from collections.abc import Mapping

from budwood.agents.base import Ability, Agent, Chat, Overrides, Price
from budwood.agents.config import AgentConfig
from budwood.agents.registry import agent_named
from budwood.agents.serving import Server
from budwood.errors import SettingsError

_ABILITIES = {"model": Ability.MODEL, "max_turns": Ability.TURNS, "budget_usd": Ability.BUDGET}
_OF_CHAT = ("base_url", "api_key_env", "temperature", "max_tokens", "timeout_s", "files")
_NO_PRICES: Mapping[str, Price] = {}


def make_agent(
    config: AgentConfig, *, python: str, prices: Mapping[str, Price] = _NO_PRICES, mcp: Server | None = None
) -> Agent:
    """Make the agent that a configuration describes; `python` starts the programs that come with budwood.

    `mcp` is the MCP server, where agents are to have it.
    """
    agent = agent_named(
        config.agent,
        Overrides(
            command=config.command,
            args=config.args,
            env_pass=config.env_pass,
            own_state=config.own_state,
            account=config.account or "",
            python=python,
            chat=_chat(config, prices),
            mcp=mcp,
        ),
    )
    for key, ability in _ABILITIES.items():
        if getattr(config, key) is not None and ability not in agent.abilities:
            raise SettingsError(
                f"agent {config.name} has {key}, and {config.agent} cannot keep to that", hint=f"leave {key} out"
            )
    if not agent.takes_chat:
        given = next((key.removesuffix("_s") for key in _OF_CHAT if getattr(config, key) not in (None, ())), None)
        if given is not None:
            raise SettingsError(
                f"agent {config.name} has {given}, and {config.agent} asks no endpoint that could be named",
                hint=f'leave {given} out, or set agent = "model"',
            )
    return agent


def _chat(config: AgentConfig, prices: Mapping[str, Price]) -> Chat | None:
    if config.base_url is None:
        return None
    return Chat(
        base_url=config.base_url,
        api_key_env=config.api_key_env,
        temperature=config.temperature,
        max_tokens=config.max_tokens,
        timeout_s=config.timeout_s,
        files=config.files,
        prices=dict(prices),
    )
