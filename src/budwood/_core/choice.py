"""What a search has come to: which of its candidates is the one, and why.

A person's word counts first, then the strategy's, then the scores. Knows the state; must not know strategies by what
they do.
"""

from collections.abc import Iterable
from typing import Literal, NamedTuple

from budwood._core.candidates import is_searched
from budwood._core.model import Review, TaskPhase
from budwood._core.scores import best_of, gate
from budwood._core.state import RunState, TaskState

ROOT = "root"
"""The task that measures what a search starts with."""
PERSON, UNDECIDED = "person", "undecided"
"""Why a search may end without a choice: a person is to make it, or the judge could not."""


class Choice(NamedTuple):
    """The candidate that a search has come to."""

    task: TaskState
    by: Literal["person", "strategy", "score"]
    why: str


def competes(state: RunState, task: TaskState) -> bool:
    """Say whether a task is one of several that want the same, of which one is wanted."""
    if task.spec.errand is not None or task.removed:
        return False
    return is_searched(state, task) or task.judgement is not None


def choice(state: RunState) -> Choice | None:
    """Return what a search has come to so far; None if nothing, or if the run is no search."""
    rivals = [
        task
        for task in state.tasks
        if competes(state, task)
        and task.phase is TaskPhase.DONE
        and task.made is not None
        and task.review is not Review.REJECTED
        and str(task.spec.id) != ROOT
    ]
    approved = [task for task in rivals if task.review in (Review.APPROVED, Review.MERGED)]
    chosen = [task for task in rivals if task.judgement is not None and task.judgement.decision == "chosen"]
    if approved:
        task = next((task for task in approved if task in chosen), None) or _best(state, approved) or approved[-1]
        return Choice(task, "person", f"{'merged' if task.review is Review.MERGED else 'approved'}")
    if chosen:
        task = chosen[-1]
        assert task.judgement is not None
        return Choice(task, "strategy", task.judgement.why)
    best = None if _is_left_to_a_person(state) else _best(state, rivals)
    return None if best is None else Choice(best, "score", "it has the best score so far")


def why_undecided(state: RunState) -> str:
    """Say why the one who was to choose did not; empty where something is chosen, or a person is to choose."""
    if state.end_reason != UNDECIDED or choice(state) is not None:
        return ""
    judged = (task.judgement for task in state.tasks if competes(state, task))
    return next((each.why for each in judged if each is not None and each.decision == "kept" and each.why), "")


def goal_is_met(state: RunState) -> bool:
    """Say whether every task that is wanted for itself is done, and a search has come to something.

    A search that was stopped by a failure, under strict, has not come to its end.
    """
    if state.stopped:
        return False
    alone = all(
        task.phase is TaskPhase.DONE
        for task in state.tasks
        if not task.removed and task.spec.errand is None and not competes(state, task)
    )
    rivals = [task for task in state.tasks if competes(state, task)]
    return alone and (not rivals or any(map(_may_be_wanted, rivals)))


def _may_be_wanted(task: TaskState) -> bool:
    if task.phase is not TaskPhase.DONE or str(task.spec.id) == ROOT:
        return False
    if task.judgement is not None and task.judgement.decision != "pruned":
        return task.judgement.decision in ("chosen", "kept", "promoted")
    return task.score is not None and task.score.valid


def _is_left_to_a_person(state: RunState) -> bool:
    """Say whether the strategy has ended without choosing, and says so: then nobody else does it."""
    return state.end_reason in (PERSON, UNDECIDED)


def _best(state: RunState, rivals: Iterable[TaskState]) -> TaskState | None:
    """Return the one with the best score, of those that are not worse than what the search started with."""
    scored = {task.number: task for task in rivals if task.spec.score is not None and task.score is not None}
    if not scored:
        return None
    scoring = next(iter(scored.values())).spec.score
    assert scoring is not None
    root = None if ROOT not in state.by_id else state.task(ROOT).score
    root = root if root is not None and root.valid and root.value is not None else None
    scores = [
        (number, task.score)
        for number, task in scored.items()
        if task.score is not None and not gate(scoring, task.score, root)
    ]
    number = best_of(scoring, scores, root)
    return None if number is None else scored[number]
