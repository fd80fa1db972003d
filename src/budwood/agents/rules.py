"""Which agent and model a task gets: what it says itself, else what the first rule says that fits it.

Knows texts of tasks; must not know what agents or models are.
"""

import re
from collections.abc import Iterable

from msgspec import Struct


class ModelRule(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A model, and perhaps an agent, for tasks that an expression fits."""

    match: str
    """A regular expression; it is looked for in a task's id, lane and description, each by itself."""
    model: str
    agent: str | None = None

    def fits(self, *texts: str) -> bool:
        """Say whether the expression is found in one of these."""
        return any(re.search(self.match, text) for text in texts)


class Choice(Struct, frozen=True, kw_only=True):
    """What a task gets; None: as the run, or the agent's configuration, has it."""

    agent: str | None = None
    model: str | None = None


def choose(rules: Iterable[ModelRule], asked: Choice, *, task: str, lane: str = "", description: str = "") -> Choice:
    """Complete what a task asks for itself, which always wins.

    A rule for another agent than the task's own is passed over: its model would mean nothing there.
    """
    if asked.model is not None:
        return asked
    for rule in rules:
        is_for_it = rule.agent is None or asked.agent in (None, rule.agent)
        if is_for_it and rule.fits(task, lane, description):
            return Choice(agent=asked.agent or rule.agent, model=rule.model)
    return asked
