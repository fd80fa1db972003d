"""The key `reviewer`: a command, or a table that names an agent; as the Reviewer of a task.

Knows what a user may write. Must not know which agents there are.
"""

from collections.abc import Mapping

from budwood._core.model import Reviewer
from budwood._core.suggest import did_you_mean
from budwood.settings.kinds import Kind, Unfit, command_or_table

_KEYS = Reviewer.__struct_fields__


def read_reviewer(given: object) -> str | Reviewer:
    """Read what was written; what is wrong with it is named."""
    if isinstance(given, Reviewer):
        return given
    if isinstance(given, str):
        return _text("reviewer", given)
    if not isinstance(given, Mapping):
        raise Unfit
    for name in given:
        if name not in _KEYS:
            raise Unfit(f"unknown key {name!r} in reviewer; {did_you_mean(str(name), _KEYS) or _has()}")
    if "agent" not in given:
        raise Unfit(f"reviewer names no agent; {_has()}")
    return Reviewer(**{name: _text(f"{name} of reviewer", value) for name, value in given.items()})


def _has() -> str:
    return f"it has {', '.join(_KEYS)}"


def _text(what: str, given: object) -> str:
    if not isinstance(given, str) or not given.strip() or "\0" in given:
        raise Unfit(f"{what} is {given!r}; it takes text that is not empty")
    return given


REVIEWER = Kind('a shell command, or a table: { agent = "codex", prompt = "…" }', read_reviewer, command_or_table)
