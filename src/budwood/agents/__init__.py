"""What performs an attempt: the contract of agents, and adapters of the programs that can be one.

Knows `_core`; must not know executors, stores or what a run is for. Adapters are imported when they are asked for.
"""

from budwood.agents.base import (
    Ability,
    Agent,
    Assignment,
    Chat,
    Launch,
    Login,
    OutcomeKind,
    Overrides,
    Price,
    Reading,
    Tokens,
)
from budwood.agents.config import AgentConfig, AgentSettings
from budwood.agents.making import make_agent
from budwood.agents.prices import priced
from budwood.agents.prompts import Briefing, Note, Result, prompt_for
from budwood.agents.registry import agent_named, agent_names
from budwood.agents.rules import Choice, ModelRule, choose

__all__ = [
    "Ability",
    "Agent",
    "AgentConfig",
    "AgentSettings",
    "Assignment",
    "Briefing",
    "Chat",
    "Choice",
    "Launch",
    "Login",
    "ModelRule",
    "Note",
    "OutcomeKind",
    "Overrides",
    "Price",
    "Reading",
    "Result",
    "Tokens",
    "agent_named",
    "agent_names",
    "choose",
    "make_agent",
    "priced",
    "prompt_for",
]
