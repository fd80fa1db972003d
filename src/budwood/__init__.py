"""budwood runs many attempts at once and keeps the best.

Everything of the Python interface is here; it is loaded when it is first used, so that `import budwood` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from budwood import errors
    from budwood._core.model import LaneSpec, TaskSpec
    from budwood.api.beginning import open_run, resume, runs, start
    from budwood.api.calls import TaskFunction, call, command, prompt, task
    from budwood.api.candidates import Candidate
    from budwood.api.drawing import Drawing
    from budwood.api.event import Event
    from budwood.api.events import Events
    from budwood.api.graph import Graph
    from budwood.api.run import Run
    from budwood.api.views import Batch, Failure, Lane, Result, Task
    from budwood.api.yokeflow import yokeflow_callback
    from budwood.engine.verdict import Verdict
    from budwood.errors import (
        BudwoodError,
        ExecutorError,
        InternalError,
        LeaseHeld,
        NoSuchId,
        PlanError,
        SettingsError,
        StoreError,
        TaskFailed,
        UsageError,
    )
    from budwood.strategies.base import Strategy, Told

__version__ = "0.1.0"

__all__ = [
    "Batch",
    "BudwoodError",
    "Candidate",
    "Drawing",
    "Event",
    "Events",
    "ExecutorError",
    "Failure",
    "Graph",
    "InternalError",
    "Lane",
    "LaneSpec",
    "LeaseHeld",
    "NoSuchId",
    "PlanError",
    "Result",
    "Run",
    "SettingsError",
    "StoreError",
    "Strategy",
    "Task",
    "TaskFailed",
    "TaskFunction",
    "TaskSpec",
    "Told",
    "UsageError",
    "Verdict",
    "__version__",
    "call",
    "command",
    "errors",
    "open_run",
    "prompt",
    "resume",
    "runs",
    "start",
    "task",
    "yokeflow_callback",
]

_PLACES = {
    "_core.model": ("LaneSpec", "TaskSpec"),
    "api.beginning": ("open_run", "resume", "runs", "start"),
    "api.calls": ("TaskFunction", "call", "command", "prompt", "task"),
    "api.candidates": ("Candidate",),
    "api.drawing": ("Drawing",),
    "api.event": ("Event",),
    "api.events": ("Events",),
    "api.graph": ("Graph",),
    "api.run": ("Run",),
    "api.views": ("Batch", "Failure", "Lane", "Result", "Task"),
    "api.yokeflow": ("yokeflow_callback",),
    "engine.verdict": ("Verdict",),
    "errors": (
        "BudwoodError",
        "ExecutorError",
        "InternalError",
        "LeaseHeld",
        "NoSuchId",
        "PlanError",
        "SettingsError",
        "StoreError",
        "TaskFailed",
        "UsageError",
    ),
    "strategies.base": ("Strategy", "Told"),
}
_HOME = {name: f"budwood.{module}" for module, names in _PLACES.items() for name in names}


def __getattr__(name: str) -> object:
    if name == "errors":
        return import_module("budwood.errors")
    if name not in _HOME:
        raise AttributeError(f"module 'budwood' has no attribute {name!r}")
    found: object = getattr(import_module(_HOME[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
