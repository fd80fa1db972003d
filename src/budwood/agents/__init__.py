"""What performs an attempt: the contract of agents, and adapters of the programs that can be one.

Knows `_core`; must not know executors, stores or what a run is for. Adapters are imported when they are asked for.
"""

from budwood.agents.base import (
    Ability,
    Agent,
    Assignment,
    Launch,
    Login,
    OutcomeKind,
    Overrides,
    Reading,
    Tokens,
)
from budwood.agents.prices import Price, priced
from budwood.agents.registry import agent_named, agent_names

__all__ = [
    "Ability",
    "Agent",
    "Assignment",
    "Launch",
    "Login",
    "OutcomeKind",
    "Overrides",
    "Price",
    "Reading",
    "Tokens",
    "agent_named",
    "agent_names",
    "priced",
]
