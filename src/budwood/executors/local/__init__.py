"""Attempts on this machine, each slot under a native supervisor."""

from budwood.executors.local.executor import LocalExecutor
from budwood.executors.local.paths import RunPaths, find_binary, make_runtime
from budwood.executors.local.tokens import Tokens

__all__ = ["LocalExecutor", "RunPaths", "Tokens", "find_binary", "make_runtime"]
