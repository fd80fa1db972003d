"""A run's tasks as a table for pandas, which is loaded only here, and only if it is installed.

Knows the tree of a run and its rows. Must not know drivers.
"""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from budwood._core.replay import fold
from budwood.api.look import Look
from budwood.errors import UsageError
from budwood.project.tree import TreeNode, grow

if TYPE_CHECKING:
    from pandas import DataFrame


def frame_of(look: Look) -> "DataFrame":
    """Make a table of the tasks that a plan or a strategy wants, one row each, in task order."""
    pandas = _pandas()
    with look.rows() as (store, rows):
        nodes = {node.number: node for node in grow(fold(store.read(look.run)), store.attempts(look.run)).nodes}
        tasks = [task for task in rows.tasks if task.number in nodes]
        took = {task.number: last.wall_s for task in tasks if (last := rows.last_of(task)) is not None}
    wanted = [nodes[task.number] for task in tasks]
    valid = [None if node.score is None else node.score.valid for node in wanted]
    made: DataFrame = pandas.DataFrame(
        {
            "id": pandas.Series([node.id for node in wanted], dtype=object),  # a plan's may be numbers
            "number": [node.number for node in wanted],
            "state": [node.phase.value for node in wanted],
            "parents": pandas.Series([node.parents for node in wanted], dtype=object),
            "score": pandas.Series([node.value for node in wanted], dtype=float),
            "valid": pandas.array(valid, dtype="boolean"),
            "gain": pandas.Series([task.gain for task in tasks], dtype=float),
            "decision": [node.decision for node in wanted],
            "why": [node.why for node in wanted],
            "attempts": [node.attempts for node in wanted],
            "duration_s": pandas.Series([took.get(node.number) for node in wanted], dtype=float),
            "cost_usd": pandas.Series([node.cost_usd for node in wanted], dtype=float),
            "lane": pandas.Series([task.lane for task in tasks], dtype=object),
            "depth": [node.depth for node in wanted],
            **{
                f"metric.{name}": pandas.Series([_metric(node, name) for node in wanted], dtype=float)
                for name in _metric_names(wanted)
            },
        }
    )
    return made


def _pandas() -> ModuleType:
    try:
        return import_module("pandas")
    except ModuleNotFoundError as error:
        if error.name != "pandas":
            raise
        raise UsageError(
            "run.to_pandas() needs the package pandas, which is not installed", hint="pip install pandas"
        ) from None


def _metric_names(nodes: list[TreeNode]) -> list[str]:
    """List the metrics that any of them has, in the order in which they came up."""
    return list(dict.fromkeys(name for node in nodes if node.score is not None for name in node.score.metrics))


def _metric(node: TreeNode, name: str) -> float | None:
    return None if node.score is None else node.score.metrics.get(name)
