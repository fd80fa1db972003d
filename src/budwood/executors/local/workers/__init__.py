"""Calls of Python functions, each slot in a worker process that lives from call to call."""

from budwood.executors.local.workers.workers import Workers

__all__ = ["Workers"]
