"""Candidates of a run beside each other, with how long their attempts took.

Knows the desk and the store; must not print.
"""

from collections.abc import Sequence

from budwood.project.desk import Desk
from budwood.project.find import find_task
from budwood.review.comparing import Compared, comparable, compare


def compare_run(desk: Desk, names: Sequence[str] = ()) -> list[Compared]:
    """Compare what these tasks made, else what competes; of each the attempt that counts."""
    state = desk.state
    tasks = [state.tasks[find_task(desk.store, desk.row, name).number] for name in names] or comparable(state)
    durations_s = {
        task.number: sum(each.wall_s or 0.0 for each in desk.store.attempts(desk.row.id, task.number)) for task in tasks
    }
    return compare(state, desk.git, tasks, durations_s=durations_s)
