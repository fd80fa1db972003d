"""How far a search has come: where it stands of what it may do, and what is best so far.

Kept up to date task by task, so that looking costs the same however large the search is; made from the state alone, so
that a run that was killed or is only looked at says the same. Knows the state; must not know how anything is shown.
"""

from collections.abc import Iterable
from typing import Self

from msgspec import Struct

from budwood._core.choice import ROOT
from budwood._core.model import ENDED_TASK, PLAN, TaskId, TaskPhase
from budwood._core.scores import PRIMARY, Score, Scoring, best_of, gain
from budwood._core.state import RunState, TaskState
from budwood.strategies.options import EVOLVE_ATTEMPTS, MAX_DEPTH, MCTS_ATTEMPTS

BEAM, MCTS = "beam", "mcts"
"""The names of searches that have a measure of their own."""
_BUDGETS = {"evolve": EVOLVE_ATTEMPTS, MCTS: MCTS_ATTEMPTS}
"""How many attempts a search makes where nobody says, of those that have so many to make."""


class SearchProgress(Struct, frozen=True, kw_only=True):
    """Where a search stands."""

    strategy: str
    depth: int | None
    """The depth that it is at, where it goes by depths; the root has 0."""
    max_depth: int | None
    tasks: int
    """How many candidates are wanted: of that depth, of its budget, or of all that were asked for."""
    ended: int
    promoted: int | None
    """How many were promoted so far, where it promotes."""
    primary: str
    best: TaskId | None
    """Who has the best score so far; None while nobody has one."""
    score: float | None
    gain: float | None
    """How much better that is than the root, relative to it."""
    root: float | None
    """What it began with."""
    over: bool
    """Whether it is: all has ended, and nothing more is asked for."""
    reason: str
    """Why that is, in its own words; empty while it goes on, and where somebody else ended it."""

    @property
    def words(self) -> str:
        """Say it in a line."""
        where = "" if self.depth is None else f"depth {self.depth} of {self.max_depth}: "
        what = " attempts" if self.strategy in _BUDGETS else ""
        counts = f"{self.ended} of {self.tasks}{what} ended" if self.tasks else self._nothing
        promoted = f", {self.promoted} promoted{'' if self.over else ' so far'}" if self.promoted is not None else ""
        return f"{where}{counts}{promoted}{self._best}{f'; over: {self.reason}' if self.reason else ''}"

    @property
    def _nothing(self) -> str:
        """Say why nothing is wanted where it is."""
        if self.over:
            return "nothing was tried"
        return "ideas are asked for" if self.depth else "nothing is asked for yet"

    @property
    def _best(self) -> str:
        if self.score is None:
            return ""
        more = "" if self.gain is None else f", {_percent(self.gain)} against the root"
        if self.gain is not None and not self.root:
            more = f", {self.gain:+g} against the root"
        return f"; best {self.primary} {self.score:g} ({self.best}{more})"


class Tally:
    """Counts what a search has come to."""

    def __init__(self, state: RunState) -> None:
        self._strategy, self._options = state.strategy, state.options
        self._root = self._root_of(state)
        self._scoring: Scoring | None = None
        self._wanted: dict[int, set[int]] = {}
        """By depth, the tasks whose candidates are scored."""
        self._ended: dict[int, set[int]] = {}
        self._deepest = 0
        self._promoted: set[int] = set()
        self._best: tuple[TaskState, Score] | None = None
        self.take(state, state.tasks)

    @classmethod
    def of(cls, state: RunState) -> Self | None:
        """Begin to count; None where no search decides."""
        return None if state.strategy == PLAN else cls(state)

    def take(self, state: RunState, tasks: Iterable[TaskState]) -> None:
        """Count tasks that have changed, or all; twice is once."""
        root = self._root_of(state)
        self._over = state.all_ended
        self._reason = state.end_reason if state.all_ended else ""
        lost = self._best is not None and self._best[0].phase is not TaskPhase.DONE  # it is wanted again
        if lost or root is not self._root:  # or it is known now what all are compared with
            self._root, self._best = root, None
            tasks = state.tasks
        for task in tasks:
            if not (task.removed or task.is_created) and task.spec.errand is None:
                self._count(task)

    def progress(self) -> SearchProgress:
        """Say where the search stands."""
        by_depth = self._strategy == BEAM
        depths = [self._deepest] if by_depth else [depth for depth in self._wanted if depth or len(self._wanted) == 1]
        tasks = sum(len(self._wanted.get(depth, ())) for depth in depths)
        best = None if self._best is None else self._best[1].value
        root = None if self._root is None else self._root.value
        budget = _BUDGETS.get(self._strategy)
        return SearchProgress(
            strategy=self._strategy,
            depth=self._deepest if by_depth else None,
            max_depth=_number(self._options.get("max_depth"), MAX_DEPTH) if by_depth else None,
            tasks=tasks if budget is None else _number(self._options.get("attempts"), budget),
            ended=sum(len(self._ended.get(depth, ())) for depth in depths),
            promoted=len(self._promoted) if by_depth else None,
            primary=PRIMARY if self._scoring is None else self._scoring.primary,
            best=None if self._best is None else self._best[0].spec.id,
            score=best,
            gain=None if best is None or root is None or self._scoring is None else self._gain(best, root),
            root=root,
            over=self._over,
            reason=self._reason,
        )

    def _gain(self, best: float, root: float) -> float:
        assert self._scoring is not None
        return gain(best, root, self._scoring.direction)

    def _count(self, task: TaskState) -> None:
        depth = self._depth_of(task)
        self._deepest = max(self._deepest, depth)
        if task.spec.score is None and self._strategy == BEAM:  # it only asks for ideas
            return
        self._wanted.setdefault(depth, set()).add(task.number)
        ended = self._ended.setdefault(depth, set())
        (ended.add if task.phase in ENDED_TASK else ended.discard)(task.number)
        if task.judgement is not None and task.judgement.decision in ("promoted", "chosen") and depth:
            self._promoted.add(task.number)
        if depth and task.spec.score is not None and task.score is not None and task.phase is TaskPhase.DONE:
            self._scoring = task.spec.score
            self._compare(task, task.score)

    def _compare(self, task: TaskState, score: Score) -> None:
        """Keep the better one; of equal ones the first."""
        assert self._scoring is not None
        rivals = [(task.number, score)]
        if self._best is not None and self._best[0] is not task:
            rivals.append((self._best[0].number, self._best[1]))
        if best_of(self._scoring, rivals, self._root) == task.number:
            self._best = (task, score)

    def _depth_of(self, task: TaskState) -> int:
        """Say how deep a task is; only the root has 0, whatever others come after."""
        if str(task.spec.id) == ROOT:
            return 0
        return max(1, task.batch - 1)

    @staticmethod
    def _root_of(state: RunState) -> Score | None:
        root = state.by_id.get(ROOT)
        score = None if root is None or root.phase is not TaskPhase.DONE else root.score
        return score if score is not None and score.valid and score.value is not None else None


def search_progress(state: RunState) -> SearchProgress | None:
    """Say how far a search has come; None of a plan, or of a run that has not begun."""
    tally = Tally.of(state)
    return None if tally is None else tally.progress()


def _percent(share: float) -> str:
    """Write a share of a hundred, signed; of a large one the whole, without an exponent."""
    return f"{share * 100:+,.0f} %" if abs(share) >= 10 else f"{share * 100:+.3g} %"


def _number(given: object, default: int) -> int:
    return given if isinstance(given, int) else default
