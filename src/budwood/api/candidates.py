"""What attempts of a run made, for a program: what was decided, and the files, read when they are asked for.

Knows the desk and git. Must not know drivers.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

from budwood._core.choice import choice
from budwood._core.model import TaskId, TaskPhase
from budwood.api.look import Look
from budwood.project.comparing import compare_run
from budwood.project.desk import Desk, sit_down
from budwood.review.changes import entries, write_out
from budwood.review.comparing import Compared

Answer = TypeVar("Answer")
_GONE, _SUBMODULE = "000000", "160000"


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """What one attempt made, beside what others did."""

    task: TaskId
    attempt: int
    state: TaskPhase
    score: float | None
    metrics: dict[str, float]
    is_valid: bool
    is_best: bool
    decision: str
    why: str
    agent: str
    model: str | None
    duration_s: float | None
    cost_usd: float
    changed: tuple[str, ...]
    commit: str
    _base: str = field(repr=False)
    _look: Look = field(repr=False, compare=False)

    @property
    def output(self) -> str:
        """What its attempt printed."""
        with self._look.open() as store:
            rows = store.tasks(self._look.run)
            found = store.log(self._look.run, self._look.task(rows, self.task).number, self.attempt)
        return "" if found is None else found.decode(errors="replace")

    def files(self) -> dict[str, bytes]:
        """Read the files that it added or changed, by path; what it deleted is not there."""
        return self._ask(self._files)

    def diff(self) -> str:
        """Write what it changed of what the run began with, as a patch."""
        return self._ask(lambda desk: write_out(desk.git, self._base, self.commit).decode(errors="replace"))

    def _ask(self, answer: Callable[[Desk], Answer]) -> Answer:
        with sitting(self._look) as desk:
            return answer(desk)

    def _files(self, desk: Desk) -> dict[str, bytes]:
        new = [each for each in entries(desk.git, self._base, self.commit) if each.new_mode not in (_GONE, _SUBMODULE)]
        return {each.path: desk.git.run("cat-file", "blob", each.new) for each in new}


@contextmanager
def sitting(look: Look) -> Iterator[Desk]:
    """Open a run whose attempts had workspaces."""
    with look.open() as store:
        yield sit_down(store, look.row(store))


def candidates_of(look: Look) -> list[Candidate]:
    """List what competes, or, in a plan, what changed anything, in task order."""
    with sitting(look) as desk:
        return [_view(look, desk, each) for each in compare_run(desk)]


def candidate_of(look: Look, task: TaskId) -> Candidate | None:
    """Return what a task has come to; None if it has left nothing yet."""
    with sitting(look) as desk:
        return next((_view(look, desk, each) for each in compare_run(desk, [str(task)])), None)


def best_of(look: Look) -> Candidate | None:
    """Return what a search has come to so far; None if nothing is chosen."""
    with sitting(look) as desk:
        found = choice(desk.state)
    return None if found is None else candidate_of(look, found.task.spec.id)


def _view(look: Look, desk: Desk, each: Compared) -> Candidate:
    return Candidate(
        task=each.task,
        attempt=each.attempt,
        state=each.state,
        score=None if each.score is None else each.score.value,
        metrics={} if each.score is None else dict(each.score.metrics),
        is_valid=each.state is TaskPhase.DONE and (each.score is None or each.score.valid),
        is_best=each.is_best,
        decision=each.decision,
        why=each.why,
        agent=each.agent,
        model=each.model,
        duration_s=each.duration_s,
        cost_usd=each.cost_usd,
        changed=tuple(change.path for change in each.files),
        commit=each.candidate,
        _base=desk.terms.base,
        _look=look,
    )
