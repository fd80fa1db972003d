"""Visits and values of a search by `mcts`, from the state of its run.

They are nowhere stored: a new strategy is shown what was asked for and how it ended, as on resume. Knows the state of a
run; must not know stores or how anything is printed.
"""

from collections.abc import Iterator

import msgspec
from msgspec import Struct

from budwood._core.model import ENDED_TASK, TaskPhase
from budwood._core.state import RunState, TaskState
from budwood.strategies.base import Told
from budwood.strategies.mcts import MctsStrategy


class Grown(Struct, frozen=True, kw_only=True):
    """What the search thinks of one candidate's branch."""

    visits: int
    """How many attempts of the branch have ended, its own included."""
    value: float
    """What the branch is worth, from 0 to 1, by all that is known by now."""
    best: float | None
    """The highest rank in it; None if nothing has one."""
    closed: bool
    """Whether the search has given it up."""


def mcts_nodes(state: RunState) -> dict[str, Grown]:
    """Say what the search thinks of every task that it asked for, by id."""
    strategy = MctsStrategy(**{**state.options, "lessons": False})  # type: ignore[arg-type]  # as JSON has them
    window = state.settings.window or strategy.window
    untold: list[TaskState] = []
    for number, tasks in enumerate(_answers(state)):
        due = [task for task in untold if task.ask <= number - window]
        untold = [task for task in untold if task.ask > number - window]
        _tell(strategy, due)
        strategy.asked(number, [task.spec for task in tasks])
        untold += tasks
    _tell(strategy, untold)
    return {
        name: Grown(
            visits=node.visits,
            value=strategy.tree.value(node),
            best=node.best if node.valid else None,
            closed=node.closed,
        )
        for name, node in strategy.tree.nodes.items()
    }


def _answers(state: RunState) -> Iterator[list[TaskState]]:
    """Give the tasks of each answer; what others added is none of the strategy's."""
    own = [task for task in state.tasks if not task.is_created and task.spec.errand is None]
    place = 0
    for number in range(state.asks):
        tasks = []
        while place < len(own) and own[place].ask == number:
            tasks.append(own[place])
            place += 1
        yield tasks


def _tell(strategy: MctsStrategy, tasks: list[TaskState]) -> None:
    """Tell ends in task order. In a run by completion that need not be the order of old, and the sums are the same."""
    for task in tasks:
        if task.phase in ENDED_TASK:
            told = Told(task=task.spec, number=task.number, ask=task.ask, state=task.phase)
            strategy.tell(msgspec.structs.replace(told, score=task.score if task.phase is TaskPhase.DONE else None))
