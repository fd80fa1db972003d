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


def eligible(state: RunState) -> list[TaskState]:
    """List the tasks whose candidates can be chosen."""
    return [
        task
        for task in state.tasks
        if competes(state, task)
        and not task.spec.helps
        and task.phase is TaskPhase.DONE
        and task.made is not None
        and task.review is not Review.REJECTED
        and str(task.spec.id) != ROOT
    ]


def choice(state: RunState) -> Choice | None:
    """Return what a search has come to so far; None if nothing, or if the run is no search."""
    rivals = eligible(state)
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
    why = "its scores rank it first" if state.all_ended else "its scores rank it first so far"
    return None if best is None else Choice(best, "score", why)


def why_undecided(state: RunState) -> str:
    """Say why a search that has ended has come to nothing; empty where it has, or a person is to choose or has."""
    judged = [task.judgement for task in state.tasks if task.judgement is not None and competes(state, task)]
    if state.end_reason in ("", PERSON) or choice(state) or any(each.decision == "chosen" for each in judged):
        return ""
    if state.end_reason == UNDECIDED:
        return next((each.why for each in judged if each.decision == "kept" and each.why), "")
    rejected = [f"{each.task}: {each.why}" for each in judged if each.decision == "rejected" and each.why]
    if rejected:
        more = f"; {len(rejected) - 1} more rejected" if len(rejected) > 1 else ""
        return f"{state.end_reason}; {rejected[-1]}{more}"
    scored = any(task.score is not None for task in eligible(state))
    return f"{state.end_reason}; no valid score is as good as that of {ROOT}" if scored else ""


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
    rivals = [task for task in state.tasks if competes(state, task) and not task.spec.helps]
    # Where candidates are scored, who is judged without a score has only helped, even if its strategy does not say so.
    measured = [task for task in rivals if task.spec.score is not None] or rivals
    done = [task for task in measured if task.phase is TaskPhase.DONE and str(task.spec.id) != ROOT]
    wanted = any(_decision(task) in ("chosen", "kept", "promoted") for task in done)
    open_ones = [task for task in done if _decision(task) in ("", "pruned")]
    return alone and (not rivals or wanted or _best(state, open_ones) is not None)


def _decision(task: TaskState) -> str:
    return "" if task.judgement is None else task.judgement.decision


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
