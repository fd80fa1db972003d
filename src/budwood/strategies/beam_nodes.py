"""The nodes of a beam, and what becomes of a depth of them.

A node is the root, or one idea tried at a node: a candidate, once its task has ended. Must not know what is tried next.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Self

from budwood._core.model import TaskPhase, TaskSpec
from budwood._core.scores import Judgement, Score, Scoring, best_of, gate, primary_gain, rank_of
from budwood.strategies.base import Told
from budwood.strategies.ideas import title_of

IDEA_PATH, IDEA_SHA256 = "BUDWOOD_IDEA", "BUDWOOD_IDEA_SHA256"
"""The variables in which a task has the idea that it tries."""


@dataclass(slots=True, eq=False)
class Node:
    """A candidate, or the task that may make it one."""

    id: str
    number: int
    depth: int = 0
    parent: "Node | None" = None
    path: str = ""
    sha256: str = ""
    title: str = ""
    told: Told | None = None
    judgement: Judgement | None = None
    children: list["Node"] = field(default_factory=list)

    @classmethod
    def of_task(cls, task: TaskSpec, *, number: int, parent: "Node") -> Self:
        """Read off a task what is tried where."""
        return cls(
            id=str(task.id),
            number=number,
            depth=parent.depth + 1,
            parent=parent,
            path=task.env[IDEA_PATH],
            sha256=task.env[IDEA_SHA256],
            title=title_of(task.prompt),
        )

    @property
    def score(self) -> Score | None:
        """Return the score of what it made, if it succeeded."""
        return self.told.score if self.told is not None and self.told.done else None

    @property
    def branch(self) -> list["Node"]:
        """Return the nodes from the root to this one."""
        found: list[Node] = []
        node: Node | None = self
        while node is not None:
            found.append(node)
            node = node.parent
        return found[::-1]


def judge(
    nodes: Sequence[Node], *, scoring: Scoring, root: Score | None, beam_width: int
) -> tuple[tuple[Judgement, ...], tuple[Node, ...]]:
    """Judge a depth as a whole; return that in task order, and who is promoted, by number.

    The gate compares with the parent, the rank with the root; ties are broken by the primary metric, then by number.
    """
    ranks = {node.id: None if node.score is None else rank_of(scoring, node.score, root) for node in nodes}
    reasons = {node.id: _why_not(node, scoring, ranks[node.id]) for node in nodes}
    passed = sorted(
        (-rank, -primary_gain(scoring, node.score, root), node.number, node)
        for node in nodes
        if (rank := ranks[node.id]) is not None and node.score is not None and not reasons[node.id]
    )
    promoted: dict[str, Node] = {}
    trees: dict[str, str] = {}
    for place, (*_, node) in enumerate(passed, start=1):
        tree = "" if node.told is None else node.told.tree
        if tree and tree in trees:
            reasons[node.id] = f"it has the same files as {trees[tree]}"
        elif len(promoted) == beam_width:
            reasons[node.id] = f"place {place} of {len(passed)}, and the beam is {beam_width} wide"
        else:
            promoted[node.id] = node
            trees[tree] = node.id
    pruned = {node.id for *_, node in passed if node.id not in promoted}
    judgements = tuple(
        Judgement(
            task=node.id,
            decision="promoted" if node.id in promoted else "pruned" if node.id in pruned else "rejected",
            rank=ranks[node.id],
            why=reasons[node.id],
        )
        for node in nodes
    )
    return judgements, tuple(sorted(promoted.values(), key=lambda node: node.number))


def choose(promoted: Iterable[Node], *, scoring: Scoring, root: Score | None) -> tuple[Judgement, ...]:
    """Choose the best of those that were promoted; nobody if that is the root alone."""
    nodes = {node.number: (node, node.score) for node in promoted if node.parent is not None}
    scores = {number: score for number, (_, score) in nodes.items() if score is not None}
    best = best_of(scoring, list(scores.items()), root)
    if best is None:
        return ()
    why = f"the best of {len(scores)} that were promoted" if len(scores) > 1 else "no other was promoted"
    rank = rank_of(scoring, scores[best], root)
    return (Judgement(task=nodes[best][0].id, decision="chosen", rank=rank, why=why),)


def _why_not(node: Node, scoring: Scoring, rank: float | None) -> str:
    """Say why a candidate does not pass the gate; empty if it does."""
    told = node.told
    if told is None:
        return "its task has not ended"
    if not told.done:
        return how_it_ended(told)
    why = gate(scoring, told.score, None if node.parent is None else node.parent.score)
    return why or ("" if rank is not None else _why_no_rank(scoring, told.score))


def _why_no_rank(scoring: Scoring, score: Score | None) -> str:
    lacking = [name for name in scoring.metrics if score is None or name not in score.metrics]
    return f"it has no {lacking[0]}, by which it is ranked" if lacking else "its rank is no number to compare"


def how_it_ended(told: Told) -> str:
    """Say what became of a task that is not done."""
    ended = "failed" if told.state is TaskPhase.FAILED else f"was {told.state.value}"
    return f"its task {ended}: {told.error}" if told.error else f"its task {ended}"
