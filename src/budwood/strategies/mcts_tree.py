"""The tree that `mcts` grows: visits, values, what is under way, and where to grow next.

A node is a task; what is known of its branch is kept as sums, so that asking and telling walk one path and look at the
children along it, never at all nodes. Values are ranks of scores, stretched to 0..1 by the worst and the best so far;
because the sums are of ranks, the stretch may change at any time. Knows numbers; must not know tasks' texts or scores.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True, slots=True)
class Shape:
    """How the tree grows."""

    exploration: float
    """How much seldom visited branches are preferred."""
    greed: float
    """How much a branch's best counts in its value; the rest is the mean of all that was grown there."""
    widening: float
    """A node that was visited v times has up to this times the square root of v children."""
    max_children: int
    max_depth: int
    """A branch has so many steps at most; also what keeps the cost of an answer within bounds."""
    patience: int
    """A branch is closed when so many attempts in a row, and half of all that it had, brought it no gain."""
    restarts: int
    """How often the search begins anew when every branch is closed."""
    synthesis: bool


@dataclass(slots=True, eq=False)
class Node:
    """A candidate, or an attempt that is to make one."""

    id: str
    parent: "Node | None"
    room: int
    """How many children it may have."""
    depth: int = 0
    joined: "Node | None" = None
    """The sibling of its parent that is merged into it."""
    rank: float | None = None
    """How good it is; None while it is under way, and where nothing came of it."""
    ended: bool = False
    children: "list[Node]" = field(default_factory=list)
    visits: int = 0
    """How many attempts of its branch have ended, its own included."""
    valid: int = 0
    """How many of those have a rank."""
    total: float = 0.0
    """The sum of those ranks."""
    under_way: int = 0
    """How many attempts of its branch have not ended: each counts as a visit that came to nothing."""
    best: float = -math.inf
    barren: int = 0
    """How many attempts in a row brought its branch no gain."""
    spent: bool = False
    """Whether it can have no more children, and none of those that it has is open."""
    closed: bool = False
    """Whether nothing more is expected of its branch."""
    pairs: set[tuple[str, str]] = field(default_factory=set)
    """Those of its children that were merged."""
    pair: "tuple[Node, Node] | None" = None
    """Those of its children that are to be merged."""

    def path(self) -> "Iterator[Node]":
        """Go from here up to the root."""
        node: Node | None = self
        while node is not None:
            yield node
            node = node.parent


class Tree:
    """All nodes of one search."""

    def __init__(self, root: str, shape: Shape) -> None:
        self._shape = shape
        self.root = Node(id=root, parent=None, room=shape.max_children, under_way=1)
        self.nodes = {root: self.root}
        self.best = self.root
        self.restarts = 0
        self.is_dead = False
        """Whether every branch is closed, and there are no restarts left."""
        self._worst, self._top, self._span = math.inf, -math.inf, 1.0

    def select(self) -> tuple[Node, Node | None]:
        """Say what to grow from, and what to merge into it, if anything."""
        node = self.root
        while True:
            if node.pair is not None:
                return node.pair
            child = self._most_promising(node)
            if child is None:
                return node, None
            node = child

    def grow(self, name: str, parent: Node, joined: Node | None) -> Node:
        """Take note that something grows there."""
        depth = parent.depth + 1
        room = self._shape.max_children if depth < self._shape.max_depth else 0
        node = Node(id=name, parent=parent, room=room, depth=depth, joined=joined)
        self.nodes[name] = node
        parent.children.append(node)
        if joined is not None and parent.parent is not None:
            parent.parent.pairs.add(_pair_of(parent, joined))
            parent.parent.pair = None
        for each in node.path():
            each.under_way += 1
        return node

    def settle(self, name: str, rank: float | None) -> list[Node]:
        """Take note of what came of a node; return those on its path that were open and are closed, or the reverse."""
        node = self.nodes[name]
        node.ended, node.rank = True, rank
        if rank is not None:
            self._welcome(node, rank)
            rank = self._stretch(rank)
        changed: list[Node] = []
        news = True
        for each in node.path():
            each.under_way -= 1
            each.visits += 1
            if rank is not None:
                each.valid += 1
                each.total += rank
            if rank is not None and rank > each.best:
                each.best, each.barren = rank, 0
            elif each is not node:
                each.barren += 1
            if news:
                each.spent = _is_spent(each)
            closed = each.spent or self.is_barren(each)
            # What is above changes by an end or by a change right below; so most of the path is quickly done.
            news = each is node or closed != each.closed
            if closed != each.closed:
                each.closed = closed
                changed.append(each)
        self.is_dead = False
        return [*changed, *self._begin_anew()] if self.root.closed else changed

    def value(self, node: Node) -> float:
        """Return what a branch is worth, from 0 to 1."""
        if not node.valid:
            return 0.0
        mean = (node.total - node.valid * self._worst) / (node.visits + node.under_way)
        best = node.best - self._worst
        return (mean + self._shape.greed * (best - mean)) / self._span

    def _welcome(self, node: Node, rank: float) -> None:
        """Take note of a new candidate: it may be the best, and one to be merged."""
        if self.best.rank is None or rank > self.best.rank:
            self.best = node
        if self._shape.synthesis and node.parent is not None:
            node.parent.pair = _pair(node.parent)

    def _stretch(self, rank: float) -> float:
        """Make room for a rank between the worst and the best; return what it counts as.

        A disaster counts as much as the best so far, the other way: it must not make all others look alike.
        """
        start = self.root.rank
        if start is not None and self._top > start:
            rank = max(rank, 2.0 * start - self._top)
        self._worst, self._top = min(self._worst, rank), max(self._top, rank)
        self._span = self._top - self._worst or 1.0
        return rank

    def is_barren(self, node: Node) -> bool:
        """Say whether a branch has brought no gain for too long."""
        return node is not self.root and node.barren >= max(self._shape.patience, node.visits // 2)

    def _width(self, node: Node) -> int:
        return math.ceil(self._shape.widening * math.sqrt(node.visits + node.under_way + 1))

    def _most_promising(self, node: Node) -> Node | None:
        """Choose the open child with the highest upper confidence bound, the first of equals; None to grow right here.

        That is so where none is open, where the node has few children for its visits, and where it has room and itself
        promises more, as a branch that was visited once for each child: a bad child is no reason to go on from it.
        """
        weight = self._shape.exploration * math.sqrt(math.log(node.visits + node.under_way + 1))
        chosen, highest = None, -math.inf
        if len(node.children) < node.room:
            if len(node.children) < self._width(node):
                return None
            own = 0.0 if node.rank is None else max(0.0, node.rank - self._worst) / self._span
            highest = own + weight / math.sqrt(len(node.children) + 1)
        for child in node.children:
            if child.rank is not None and not child.closed:
                bound = self.value(child) + weight / math.sqrt(child.visits + child.under_way)
                if bound > highest:
                    chosen, highest = child, bound
        return chosen

    def _begin_anew(self) -> list[Node]:
        """Open the best candidate, at its second time the root; return what is open now."""
        if self.restarts >= self._shape.restarts:
            self.is_dead = True
            return []
        self.restarts += 1
        fresh = self.best.room == self._shape.max_children
        chosen = self.best if self.best is not self.root and fresh else self.root
        chosen.room += self._shape.max_children
        opened = list(chosen.path())
        for each in opened:
            each.closed, each.spent, each.barren = False, False, 0
        return opened


def _is_spent(node: Node) -> bool:
    """Say whether a node has no room for more children and none that is open; what is under way may open it again."""
    if any(child.rank is not None and not child.closed for child in node.children):
        return False
    return sum(child.ended for child in node.children) >= node.room


def _pair(node: Node) -> tuple[Node, Node] | None:
    """Return the two best children, if both are better than their parent, were never merged, and may have children."""
    start = node.rank
    if start is None or len(node.children) < 2:
        return None
    ranked = [(child.rank, child) for child in node.children if child.rank is not None and child.rank > start]
    if len(ranked) < 2:
        return None
    (_, first), (_, second) = sorted(ranked, key=lambda each: -each[0])[:2]
    return None if not first.room or _pair_of(first, second) in node.pairs else (first, second)


def _pair_of(one: Node, other: Node) -> tuple[str, str]:
    return (one.id, other.id) if one.id < other.id else (other.id, one.id)
