"""Settings: one table of keys, and the layers that give them values.

Knows _core. Must not read the environment or the home directory: whoever calls passes them in.
"""

from budwood.settings.agents import TABLES, TableKey
from budwood.settings.files import read_settings
from budwood.settings.keys import KEYS, NOT_SETTINGS, Key, Scope
from budwood.settings.layers import DEFAULT, ENVIRONMENT, FLAG, Layer, Resolved, env_layer, plan_layer, resolve
from budwood.settings.run import Machine, run_settings

__all__ = [
    "DEFAULT",
    "ENVIRONMENT",
    "FLAG",
    "KEYS",
    "NOT_SETTINGS",
    "TABLES",
    "Key",
    "Layer",
    "Machine",
    "Resolved",
    "Scope",
    "TableKey",
    "env_layer",
    "plan_layer",
    "read_settings",
    "resolve",
    "run_settings",
]
