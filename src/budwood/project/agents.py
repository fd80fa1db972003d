"""The agents of a project: what its settings say of them, with the files that they name read and checked.

Reads files of the user's. Must not start anything.
"""

import os
from pathlib import Path

import msgspec

from budwood.agents.config import AgentConfig, AgentSettings
from budwood.agents.prompts import check_prompt_template
from budwood.errors import SettingsError, UsageError
from budwood.settings import Resolved
from budwood.settings.agents import AGENTS, MODEL_RULE, Values, agent_values, price_values
from budwood.settings.files import decoded, read_bytes


def agent_settings(resolved: Resolved) -> AgentSettings:
    """Put together what is configured about agents; it holds no path that a later change could give another meaning."""
    settings = msgspec.convert(
        {
            "agents": {name: _config(name, given, resolved) for name, given in agent_values(resolved.values).items()},
            "prices": price_values(resolved.values),
            "model_rules": resolved.values.get(MODEL_RULE, ()),
        },
        AgentSettings,
    )
    for number, rule in enumerate(settings.model_rules, 1):
        if rule.agent is not None:
            _check_agent(
                rule.agent, settings, where=f"[[{MODEL_RULE}]] number {number} of {resolved.origin(MODEL_RULE)}"
            )
    return settings


def _check_agent(name: str, settings: AgentSettings, *, where: str) -> None:
    try:
        settings.config(name)
    except UsageError as error:
        raise SettingsError(f"{error.message}, which {where} names", hint=error.hint) from None


def _config(name: str, given: Values, resolved: Resolved) -> AgentConfig:
    fields = {"name": name, "agent": name, **given}
    if "timeout" in fields:
        fields["timeout_s"] = fields.pop("timeout")
    if "prompt_template" in fields:
        file = str(fields["prompt_template"])
        fields["prompt_template"] = _template(file, origin=resolved.origin(f"{AGENTS}.{name}.prompt_template"))
    return msgspec.convert(fields, AgentConfig)


def _template(file: str, *, origin: str) -> str:
    path = Path(origin).parent / os.path.expanduser(file)
    text = decoded(read_bytes(path, error=SettingsError), path=str(path), error=SettingsError).replace("\r\n", "\n")
    check_prompt_template(text, where=str(path))
    return text
