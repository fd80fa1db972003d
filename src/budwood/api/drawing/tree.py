"""What grew from what, drawn: depth by depth from left to right, with scores and decisions.

Knows a run's tree and SVG. Must not know stores or notebooks.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from budwood._core.model import PLAN, TaskId, TaskPhase
from budwood.api.drawing.drawing import MOST, Drawing
from budwood.api.drawing.frame import HEAD_PX, MARGIN_PX, framed, left_out
from budwood.api.drawing.layout import arrange, drawn_first
from budwood.api.drawing.marks import RADIUS, draw_mark
from budwood.api.drawing.svg import HALO, cut, element, title, width_of, words
from budwood.project.times import span
from budwood.project.tree import Tree, TreeNode
from budwood.project.words import counted, money

ROW_PX = 22.0
GAP_PX = 30.0
LABEL_PX = 200.0
_PHASES = {
    TaskPhase.DONE: "done",
    TaskPhase.FAILED: "failed",
    TaskPhase.SKIPPED: "skipped",
    TaskPhase.CANCELLED: "cancelled",
    TaskPhase.ACTIVE: "running",
    TaskPhase.READY: "to come",
    TaskPhase.BLOCKED: "to come",
}
_DRAWN_FIRST = ("chosen", "promoted", "kept")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """A node where it is drawn."""

    node: TreeNode
    x: float
    y: float
    word: str
    label: str
    is_on_way: bool
    """Whether it is the best, or led to it."""

    @property
    def end(self) -> float:
        """Return where its label ends."""
        return self.x + RADIUS + 6 + width_of(self.label)


def draw_tree(tree: Tree) -> Drawing:
    """Draw the tasks of a run, each behind what it grew from, and the way to the best as a thick line."""
    places = _places(tree)
    drawn = {str(place.node.id): place for place in places}
    parts = [*_edges(places, drawn), *(_drawn(place, tree) for place in places)]
    if not places:
        parts.append(words(MARGIN_PX, HEAD_PX, "There are no tasks yet.", fill="faint"))
    return framed(
        _sentence(tree),
        parts,
        width=max((place.end for place in places), default=0.0) - MARGIN_PX,
        bottom=max((place.y for place in places), default=HEAD_PX) + ROW_PX / 2,
        used={place.word for place in places},
        notes=left_out(len(tree.nodes) - len(places)),
    )


def word_of(node: TreeNode, best: TaskId | None) -> str:
    """Say in a word what became of a task."""
    if node.id == best:
        return "best"
    if node.phase is TaskPhase.DONE:
        invalid = node.score is not None and not node.score.valid
        return node.decision or ("not valid" if invalid else "done")
    return _PHASES[node.phase]


def told_of(node: TreeNode, primary: str) -> tuple[str, ...]:
    """Tell all about a task, line by line."""
    score = node.score
    value = "" if score is None or score.value is None else f"{primary} {score.value:g}"
    spread = "" if score is None or score.low is None or score.high is None else f" ({score.low:g} to {score.high:g})"
    return (
        f"{node.id}: {node.decision or node.phase.value}",
        node.title or node.idea,
        value + spread,
        "" if score is None or score.valid else "not valid",
        node.why,
        "" if node.visits is None else f"{counted(node.visits, 'visit')}, worth {node.worth or 0.0:.2f}",
        ", ".join(
            each
            for each in (
                counted(node.attempts, "attempt") if node.attempts else "",
                span(node.wall_s) if node.wall_s else "",
                money(node.cost_usd) if node.cost_usd else "",
            )
            if each
        ),
    )


def _sentence(tree: Tree) -> str:
    what = f"Plan of run {tree.run}" if tree.strategy == PLAN else f"Tree of run {tree.run} ({tree.strategy})"
    said = f"{what}: {counted(len(tree.nodes), 'task')}"
    if tree.best is None:
        return said
    value = next((node.value for node in tree.nodes if node.id == tree.best), None)
    return f"{said}, best {tree.best}" + ("" if value is None else f" with {tree.primary} {value:g}")


def _places(tree: Tree) -> list[_Place]:
    by_id = {str(node.id): place for place, node in enumerate(tree.nodes)}
    parents = {place: by_id.get(str(node.parent)) for place, node in enumerate(tree.nodes)}
    way = _way(parents, by_id.get(str(tree.best)))
    chosen = sorted(drawn_first(parents, _by_interest(tree.nodes, parents, way), MOST))
    nodes = [tree.nodes[each] for each in chosen]
    drawn = set(chosen)
    hidden = Counter(parent for node, parent in parents.items() if parent is not None and node not in drawn)
    labels = [_label(node, hidden[number]) for node, number in zip(nodes, chosen, strict=True)]
    columns = _columns(nodes, labels)
    place_of = {number: place for place, number in enumerate(chosen)}
    grown = [None if (parent := parents[number]) is None else place_of[parent] for number in chosen]
    rows = arrange(grown, [node.depth for node in nodes])
    return [
        _Place(
            node=node,
            x=columns[node.depth],
            y=HEAD_PX + ROW_PX * rows[place],
            word=word_of(node, tree.best),
            label=labels[place],
            is_on_way=chosen[place] in way,
        )
        for place, node in enumerate(nodes)
    ]


def _way(parents: Mapping[int, int | None], best: int | None) -> set[int]:
    way: set[int] = set()
    while best is not None:
        way.add(best)
        best = parents[best]
    return way


def _by_interest(nodes: Sequence[TreeNode], parents: Mapping[int, int | None], way: set[int]) -> list[int]:
    """List what is worth being drawn first: the way to the best, what was promoted, what competed with the way."""
    return sorted(
        parents,
        key=lambda each: (each not in way, nodes[each].decision not in _DRAWN_FIRST, parents[each] not in way, each),
    )


def _label(node: TreeNode, hidden: int) -> str:
    value = "" if node.value is None else f" {node.value:.4g}"
    more = f" +{hidden:,}" if hidden else ""
    return cut(str(node.id), LABEL_PX - width_of(value + more)) + value + more


def _columns(nodes: Sequence[TreeNode], labels: Sequence[str]) -> dict[int, float]:
    widths: dict[int, float] = {}
    for node, label in zip(nodes, labels, strict=True):
        widths[node.depth] = max(widths.get(node.depth, 0.0), width_of(label))
    x = MARGIN_PX + 1.5 * RADIUS
    columns: dict[int, float] = {}
    for depth in sorted(widths):
        columns[depth] = x
        x += widths[depth] + 2 * RADIUS + GAP_PX
    return columns


def _edges(places: Sequence[_Place], drawn: Mapping[str, _Place]) -> Iterator[str]:
    """Draw a line from everything that a task grew from; those on the way last, so that nothing covers them."""
    for place in sorted(places, key=lambda each: each.is_on_way):
        for parent in place.node.parents:
            if str(parent) in drawn:
                yield _edge(drawn[str(parent)], place, is_first=str(parent) == str(place.node.parent))


def _edge(parent: _Place, child: _Place, *, is_first: bool) -> str:
    begin, end = parent.end + 3, child.x - RADIUS - 3
    middle = max((begin + end) / 2, end - GAP_PX / 2)
    return element(
        "path",
        d=f"M{begin:.1f} {parent.y:.1f}C{middle:.1f} {parent.y:.1f} {middle:.1f} {child.y:.1f} {end:.1f} {child.y:.1f}",
        fill="none",
        stroke="green" if child.is_on_way else "line",
        stroke_width=2.6 if is_first and child.is_on_way else 1.2,
        stroke_dasharray=None if is_first else "3 3",
    )


def _drawn(place: _Place, tree: Tree) -> str:
    label = words(
        place.x + RADIUS + 6,
        place.y,
        place.label,
        font_weight="bold" if place.is_on_way else None,
        fill="ink" if place.node.phase is TaskPhase.DONE else "faint",
        **HALO,
    )
    return element("g", title(*told_of(place.node, tree.primary)), draw_mark(place.word, place.x, place.y), label)
