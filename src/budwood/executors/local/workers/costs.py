"""What calls say that they cost: in their worker's directory while they run, in their own until the store knows of it.

Knows those files; must not know what a cost is for.
"""

from pathlib import Path

from budwood.executors.local.leftovers import USAGE, read_usage_report


def read_cost(worker: Path, call: str) -> str | None:
    """Read what a call said in the directory of its worker."""
    return read_usage_report(worker, name=_name(call))


def keep_cost(worker: Path, call: str, *, directory: Path) -> None:
    """Move what a call said to its own directory, which outlives its worker."""
    directory.mkdir(exist_ok=True)
    (worker / _name(call)).rename(directory / USAGE)


def _name(call: str) -> str:
    """Name the file of one call; the worker knows this by heart."""
    return f"usage.{call}.json"
