"""What a configuration says of agents, in a form that a run keeps: a resumed run uses what it was started with.

Knows names and plain values, nothing that JSON cannot hold. Must not read files, nor know where values came from.
"""

from typing import Literal

from msgspec import Struct

from budwood._core.suggest import did_you_mean
from budwood.agents.base import Price
from budwood.agents.registry import agent_names
from budwood.agents.rules import ModelRule
from budwood.errors import UsageError

Billing = Literal["metered", "subscription"]


class AgentConfig(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One agent by its name; None and empty are as the agent has it."""

    name: str
    """What plans call it."""
    agent: str
    """Which agent it is."""
    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    env_pass: tuple[str, ...] = ()
    own_state: bool = False
    model: str | None = None
    max_turns: int | None = None
    budget_usd: float | None = None
    """Of one attempt."""
    account: str | None = None
    billing: Billing | None = None
    prompt_template: str | None = None
    """The template's text."""
    base_url: str | None = None
    api_key_env: str | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    timeout_s: float | None = None
    files: tuple[str, ...] = ()


class AgentSettings(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Everything that is configured about agents."""

    agents: dict[str, AgentConfig] = {}
    prices: dict[str, Price] = {}
    model_rules: tuple[ModelRule, ...] = ()

    def config(self, name: str) -> AgentConfig:
        """Return what is configured under a name; a name that is an agent's own needs nothing."""
        if name in self.agents:
            return self.agents[name]
        names = agent_names()
        if name in names:
            return AgentConfig(name=name, agent=name)
        known = sorted({*names, *self.agents})
        hint = did_you_mean(name, known) or f"agents are {', '.join(known)}; [agents.{name}] would make one"
        raise UsageError(f"there is no agent {name!r}", hint=hint)
