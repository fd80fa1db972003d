"""The one table of settings: every key, what it takes, its default and its meaning.

Validation, `config show`, flags, environment variables and the reference page are derived from it; tests fail when a
key has no effect or no entry in the docs. Knows names and kinds. Must not know where values come from.
"""

from budwood.settings.keys.key import Key, Scope
from budwood.settings.keys.machine import MACHINE
from budwood.settings.keys.merging import MERGING
from budwood.settings.keys.run import RUN
from budwood.settings.keys.task import TASK
from budwood.settings.keys.workspace import WORKSPACE

__all__ = ["KEYS", "NOT_SETTINGS", "Key", "Scope"]

KEYS: dict[str, Key] = {key.name: key for key in (*RUN, *WORKSPACE, *MERGING, *TASK, *MACHINE)}
"""Every setting, in the order in which it is shown."""

NOT_SETTINGS = frozenset(
    {
        "BUDWOOD_RUN",
        "BUDWOOD_TASK",
        "BUDWOOD_ATTEMPT",
        "BUDWOOD_WORKSPACE",
        "BUDWOOD_ATTEMPT_SEED",
        "BUDWOOD_MARK",
        "BUDWOOD_ACCESS",
        "BUDWOOD_TOKEN",
        "BUDWOOD_DOOR",
        "BUDWOOD_USAGE",
        "BUDWOOD_NOTES",
        "BUDWOOD_IDEA",
        "BUDWOOD_IDEA_SHA256",
        "BUDWOOD_SCORE_SEED",
        "BUDWOOD_SCORE_REPEAT",
        "BUDWOOD_SCORE_SETTING",
        "BUDWOOD_NOTIFY_SECRET",
    }
)
"""Variables that budwood gives to attempts (a run inside a run finds them in its environment), and a secret."""
