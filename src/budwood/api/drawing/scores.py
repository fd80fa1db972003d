"""What candidates scored, drawn over the numbers of their tasks: every one as a mark, the best so far as a line.

Knows a run's tree and SVG. Must not know stores or notebooks.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from budwood._core.choice import ROOT
from budwood._core.scores import is_better
from budwood.api.drawing.drawing import MOST, Drawing
from budwood.api.drawing.frame import HEAD_PX, MARGIN_PX, framed, left_out
from budwood.api.drawing.layout import ticks
from budwood.api.drawing.marks import draw_mark
from budwood.api.drawing.svg import HALO, element, path, title, width_of, words
from budwood.api.drawing.tree import told_of
from budwood.project.tree import Tree, TreeNode
from budwood.project.words import counted

WIDTH_PX = 660.0
HEIGHT_PX = 240.0
_PAD_PX = 12.0
_FARTHEST = 1e300
"""Beyond it, differences may be no numbers any more."""
_WORSE = 3.0
"""So far the scale goes on the worse side at most, in ranges of what is good."""


@dataclass(frozen=True, slots=True)
class _Plot:
    """Where numbers of tasks and values are; a value that is off the scale is at its end."""

    left: float
    first: int
    last: int
    low: float
    high: float

    def x(self, number: int) -> float:
        """Return where a task is."""
        return self.left + _PAD_PX + (WIDTH_PX - 2 * _PAD_PX) * (number - self.first) / max(1, self.last - self.first)

    def y(self, value: float) -> float:
        """Return where a value is."""
        room = HEIGHT_PX - 2 * _PAD_PX
        return (
            HEAD_PX + _PAD_PX + room * (1 - (min(self.high, max(self.low, value)) - self.low) / (self.high - self.low))
        )


def draw_scores(tree: Tree) -> Drawing:
    """Draw every score of a run; one that is not valid has a mark of its own, and never counts as the best."""
    scored = [node for node in tree.nodes if node.score is not None]
    said = f"Scores of run {tree.run}: {counted(len(scored), 'candidate')}"
    if not scored:
        empty = words(
            MARGIN_PX, HEAD_PX, "Nothing has a score yet." if _is_search(tree) else "Nothing in it is scored."
        )
        return framed(said, [empty], width=WIDTH_PX / 2, bottom=HEAD_PX)
    root = next((node for node in scored if str(node.id) == ROOT and _counts(node)), None)
    line = _best_so_far(scored, tree)
    shown = _shown(scored, {number for number, _ in line} | {node.number for node in scored if node.id == tree.best})
    plot = _plot(shown, _scale(scored, root, tree))
    parts = [*_scales(plot, tree), _line(plot, line), *(_dot(plot, node, tree) for node in shown)]
    parts += _root_line(plot, root, tree)
    return framed(
        said + _told(line, root, tree),
        parts,
        width=plot.left + WIDTH_PX - MARGIN_PX,
        bottom=HEAD_PX + HEIGHT_PX + 34,
        used={_word(node, tree, plot) for node in shown},
        notes=left_out(len(scored) - len(shown)),
    )


def _is_search(tree: Tree) -> bool:
    return any(node.scored for node in tree.nodes)


def _counts(node: TreeNode) -> bool:
    return node.score is not None and node.score.valid and _value(node) is not None


def _value(node: TreeNode) -> float | None:
    return node.value if node.value is not None and math.isfinite(node.value) else None


def _word(node: TreeNode, tree: Tree, plot: _Plot) -> str:
    value = _value(node)
    if value is None or not _counts(node):
        return "not valid"
    if node.id == tree.best:
        return "best"
    return "scored" if plot.low <= value <= plot.high else "off the scale"


def _best_so_far(scored: Sequence[TreeNode], tree: Tree) -> list[tuple[int, float]]:
    """List where the best value of the primary metric became better, by task number."""
    line: list[tuple[int, float]] = []
    for node in scored:
        value = _value(node)
        if value is not None and _counts(node) and (not line or is_better(value, line[-1][1], tree.direction)):
            line.append((node.number, value))
    return line


def _shown(scored: Sequence[TreeNode], always: set[int]) -> list[TreeNode]:
    """Choose what is drawn of very many: what made a difference, and of the rest each so-and-so-manieth."""
    if len(scored) <= MOST:
        return list(scored)
    others = [node.number for node in scored if node.number not in always]
    room = max(0, MOST - len(always))
    taken = {others[place * len(others) // room] for place in range(room)} if room else set()
    wanted = always | taken
    return [node for node in scored if node.number in wanted]


def _scale(scored: Sequence[TreeNode], root: TreeNode | None, tree: Tree) -> tuple[float, float]:
    """Choose the values between which all that matters lies: one bad candidate must not squash the good ones."""
    values = [_drawable(value) for node in scored if (value := _value(node)) is not None]
    good = sorted((_drawable(node.value or 0.0) for node in scored if _counts(node)), reverse=tree.direction == "max")
    low, high = min(values, default=0.0), max(values, default=1.0)
    if good:
        best, begin = good[0], good[0] if root is None else _drawable(root.value or 0.0)
        size = max(abs(best - good[len(good) * 6 // 10]), abs(best - begin)) * (1 if tree.direction == "max" else -1)
        least, most = sorted((best - _WORSE * size, best + size))
        inside = [value for value in values if least <= value <= most]
        room = abs(size) / 4  # between those that are on the scale and those at its end
        if size:
            low = low if low >= least else min(inside) - room
            high = high if high <= most else max(inside) + room
    if low == high:
        low, high = low - (abs(low) or 1.0) / 10, high + (abs(high) or 1.0) / 10
    return low, high


def _plot(shown: Sequence[TreeNode], scale: tuple[float, float]) -> _Plot:
    widest = max(width_of(_number(value)) for value in ticks(*scale))
    return _Plot(MARGIN_PX + widest + 8, shown[0].number, max(node.number for node in shown), *scale)


def _drawable(value: float) -> float:
    return max(-_FARTHEST, min(_FARTHEST, value))


def _number(value: float) -> str:
    return f"{value:.6g}"


def _scales(plot: _Plot, tree: Tree) -> Iterator[str]:
    bottom = HEAD_PX + HEIGHT_PX
    for value in ticks(plot.low, plot.high):
        y = plot.y(value)
        yield element("path", d=path([(plot.left, y), (plot.left + WIDTH_PX, y)]), stroke="line", stroke_width=0.6)
        yield words(plot.left - 6, y, _number(value), fill="faint", text_anchor="end")
    for number in sorted({round(each) for each in ticks(plot.first, plot.last, about=8)}):
        yield words(plot.x(number), bottom + 12, str(number), fill="faint", text_anchor="middle")
    yield element("path", d=path([(plot.left, bottom), (plot.left + WIDTH_PX, bottom)]), stroke="line")
    better = "higher" if tree.direction == "max" else "lower"
    yield words(
        plot.left,
        bottom + 28,
        f"{tree.primary} ({better} is better) over task number; line: the best so far",
        fill="faint",
    )


def _root_line(plot: _Plot, root: TreeNode | None, tree: Tree) -> Iterator[str]:
    value = None if root is None else _value(root)
    if value is None:
        return
    y = plot.y(value)
    data = path([(plot.left, y), (plot.left + WIDTH_PX, y)])
    yield element("path", title(f"root {value:g}"), d=data, stroke="faint", stroke_dasharray="5 4", fill="none")
    below = 8 if tree.direction == "max" else -8  # where fewer candidates are
    yield words(plot.left + WIDTH_PX, y + below, f"root {_number(value)}", fill="faint", text_anchor="end", **HALO)


def _line(plot: _Plot, line: Sequence[tuple[int, float]]) -> str:
    points: list[tuple[float, float]] = []
    for number, value in line:
        if points:
            points.append((plot.x(number), points[-1][1]))
        points.append((plot.x(number), plot.y(value)))
    if not points:
        return ""
    points.append((plot.left + WIDTH_PX, points[-1][1]))
    return element("path", title("best so far"), d=path(points), fill="none", stroke="green", stroke_width=1.8)


def _dot(plot: _Plot, node: TreeNode, tree: Tree) -> str:
    value = _value(node)
    x = plot.x(node.number)
    y = HEAD_PX + HEIGHT_PX - 5 if value is None else plot.y(value)
    parts = [title(*told_of(node, tree.primary))]
    score = node.score
    if score is not None and score.low is not None and score.high is not None:
        spread = [(x, plot.y(each)) for each in (score.low, score.high)]
        parts.append(element("path", d=path(spread), stroke="blue", stroke_width=1.2))
    return element("g", *parts, draw_mark(_word(node, tree, plot), x, y, radius=4.0))


def _told(line: Sequence[tuple[int, float]], root: TreeNode | None, tree: Tree) -> str:
    if not line:
        return ", none of them valid"
    begin = "" if root is None else f", the root has {root.value:g}"
    return f", best {tree.primary} {line[-1][1]:g}{begin}"
