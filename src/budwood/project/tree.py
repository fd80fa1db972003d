"""The tree of candidates that a search grew: what grew from what, what it came to, and what was decided about it.

Made from a run's state and the rows of its attempts, so it can be had at any time. Must not write anything.
"""

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from budwood._core.choice import choice
from budwood._core.model import ENDED_TASK, PLAN, RunPhase, TaskId, TaskPhase
from budwood._core.replay import fold
from budwood._core.rows import AttemptRow, RunRow
from budwood._core.scores import Direction, Judgement, Score
from budwood._core.state import RunState, TaskState
from budwood.errors import UsageError
from budwood.stores import Store
from budwood.strategies.beam_nodes import IDEA_PATH, IDEA_SHA256
from budwood.strategies.mcts_report import mcts_nodes
from budwood.strategies.progress import MCTS


class TreeNode(Struct, frozen=True, kw_only=True):
    """A task of a search, and where it stands in the tree."""

    id: TaskId
    number: int
    parent: TaskId | None
    parents: tuple[TaskId, ...]
    """Everything that it grew from: the parent first, then what was merged into that."""
    depth: int
    """How many tasks lead to it; the root has 0."""
    phase: TaskPhase
    scored: bool
    """Whether what it makes is scored; what is not only thinks of ideas, or chooses."""
    idea: str
    """The path of the idea that it tries."""
    idea_sha256: str
    title: str
    score: Score | None
    judgement: Judgement | None
    attempts: int
    wall_s: float
    """How long its attempts took, all together."""
    began_at_ms: int | None
    ended_at_ms: int | None
    cost_usd: float
    error: str
    """Why its newest attempt did not succeed."""
    untold: int = 0
    """Attempts that did not say what they cost."""
    visits: int | None = None
    """How many attempts of its branch have ended, where the search counts them."""
    worth: float | None = None
    """What the search thinks that its branch is worth, from 0 to 1."""

    @property
    def value(self) -> float | None:
        """Return the primary metric."""
        return None if self.score is None else self.score.value

    @property
    def decision(self) -> str:
        """Return what was decided about it; empty while that is open."""
        return "" if self.judgement is None else self.judgement.decision

    @property
    def why(self) -> str:
        """Return the reason of that, or of its failure, or why its score is not valid."""
        judged = "" if self.judgement is None else self.judgement.why
        return judged or self.error or ("" if self.score is None else self.score.why)


class Depth(Struct, frozen=True, kw_only=True):
    """How far one depth of the tree has come."""

    depth: int
    tasks: int
    ended: int
    failed: int
    promoted: int
    rejected: int
    pruned: int
    attempts: int
    best: float | None
    """The best valid score of it."""
    took_s: float | None
    """From its first start to its last end."""


class Tree(Struct, frozen=True, kw_only=True):
    """A whole search."""

    run: str
    strategy: str
    phase: RunPhase
    reason: str
    """Why it ended."""
    primary: str
    direction: Direction
    best: TaskId | None
    nodes: tuple[TreeNode, ...]
    """In task order."""

    def downwards(self) -> Iterator[TreeNode]:
        """Give every node, each before what grew from it and after all that grew from those before it."""
        below: dict[TaskId | None, list[TreeNode]] = {}
        for node in self.nodes:
            below.setdefault(node.parent, []).append(node)
        left = below.get(None, [])[::-1]
        while left:
            node = left.pop()
            yield node
            left += below.get(node.id, [])[::-1]

    def depths(self) -> list[Depth]:
        """Count what there is at each depth."""
        scored = [node for node in self.nodes if node.scored]
        return [
            _depth(depth, [n for n in scored if n.depth == depth], self) for depth in sorted({n.depth for n in scored})
        ]


def read_tree(store: Store, row: RunRow) -> Tree:
    """Read the tree of a run; refused where no search grew one."""
    state = fold(store.read(row.id), again=lambda: store.read(row.id))
    if state.strategy == PLAN:
        raise UsageError(
            f"run {row.name} is a plan: its tasks are no tree that a search grew", hint=f"budwood show {row.name}"
        )
    return grow(state, store.attempts(row.id))


def grow(state: RunState, attempts: Iterable[AttemptRow]) -> Tree:
    """Put the tasks of a run into a tree; those of a plan by what they come after. What joined a search is left out."""
    rows: dict[int, list[AttemptRow]] = {}
    for attempt in attempts:
        rows.setdefault(attempt.task, []).append(attempt)
    thoughts = mcts_nodes(state) if state.strategy == MCTS else {}
    nodes: list[TreeNode] = []
    for task in state.tasks:
        if task.removed or task.spec.errand is not None or (task.is_created and state.strategy != PLAN):
            continue
        node, thought = _node(task, rows.get(task.number, [])), thoughts.get(str(task.spec.id))
        if thought is not None:
            node = replace(node, visits=thought.visits, worth=round(thought.value, 6))
        nodes.append(node)
    scoring = next((task.spec.score for task in state.tasks if task.spec.score is not None), None)
    best = choice(state)
    return Tree(
        run=state.name,
        strategy=state.strategy,
        phase=state.phase,
        reason=state.end_reason,
        primary="score" if scoring is None else scoring.primary,
        direction="max" if scoring is None else scoring.direction,
        best=None if best is None else best.task.spec.id,
        nodes=tuple(nodes),
    )


def _node(task: TaskState, attempts: Sequence[AttemptRow]) -> TreeNode:
    last = attempts[-1] if attempts else None
    began = [each.started_at_ms for each in attempts if each.started_at_ms is not None]
    ended = task.phase in ENDED_TASK and last is not None
    return TreeNode(
        id=task.spec.id,
        number=task.number,
        parent=next(iter(task.spec.after), None),
        parents=task.spec.after,
        depth=task.batch - 1,
        phase=task.phase,
        scored=task.spec.score is not None,
        idea=task.spec.env.get(IDEA_PATH, ""),
        idea_sha256=task.spec.env.get(IDEA_SHA256, ""),
        title=task.spec.description,
        score=task.score if task.phase is TaskPhase.DONE else None,
        judgement=task.judgement,
        attempts=task.attempts,
        wall_s=round(sum(each.wall_s or 0.0 for each in attempts), 3),
        began_at_ms=min(began, default=None),
        ended_at_ms=last.finished_at_ms if ended and last is not None else None,
        cost_usd=task.cost_usd,
        untold=task.untold,
        error="" if last is None or last.error is None or task.phase is TaskPhase.DONE else last.error.message,
    )


def _depth(depth: int, nodes: Sequence[TreeNode], tree: Tree) -> Depth:
    valid = [node.score.value for node in nodes if node.score is not None and node.score.valid]
    values = [value for value in valid if value is not None]
    began = [node.began_at_ms for node in nodes if node.began_at_ms is not None]
    ended = [node.ended_at_ms for node in nodes if node.ended_at_ms is not None]
    decisions = [node.decision for node in nodes]
    return Depth(
        depth=depth,
        tasks=len(nodes),
        ended=sum(node.phase in ENDED_TASK for node in nodes),
        failed=sum(node.phase is TaskPhase.FAILED for node in nodes),
        promoted=decisions.count("promoted") + decisions.count("chosen"),
        rejected=decisions.count("rejected"),
        pruned=decisions.count("pruned"),
        attempts=sum(node.attempts for node in nodes),
        best=(max if tree.direction == "max" else min)(values, default=None),
        took_s=(max(ended) - min(began)) / 1000 if began and ended else None,
    )
