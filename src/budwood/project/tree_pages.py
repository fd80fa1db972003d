"""The tree of a search as pages of Markdown: a summary in tables, and a drawing in Mermaid.

Knows the tree; must not know where pages are written to.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from budwood.project.times import span
from budwood.project.tree import Tree, TreeNode
from budwood.project.words import counted, money

SUMMARY, GRAPH = "TREE_SUMMARY.md", "TREE_GRAPH.md"
_DEPTHS = ("depth", "tasks", "ended", "failed", "attempts", "promoted", "pruned", "rejected", "best", "took")
_NODES = (
    "task",
    "from",
    "idea",
    "state",
    "attempts",
    "time",
    "cost",
    "score",
    "rank",
    "visits",
    "value",
    "decision",
    "why",
)
_COLOURS = {
    "promoted": "fill:#d7f0d7,stroke:#2a7a2a,color:#111",
    "chosen": "fill:#d7f0d7,stroke:#2a7a2a,color:#111",
    "pruned": "fill:#eeeeee,stroke:#777777,color:#111",
    "rejected": "fill:#f6dada,stroke:#a33333,color:#111",
}


def summary_page(tree: Tree) -> str:
    """Write how the search went: what it came to, each depth, each task, and why."""
    return "\n".join(_summary(tree))


def _summary(tree: Tree) -> Iterator[str]:
    yield f"# Tree of run {tree.run}\n"
    yield f"- strategy: {tree.strategy}"
    yield f"- state: {tree.phase.value}" + (f", because of `{tree.reason}`" if tree.reason else "")
    best = next((node for node in tree.nodes if node.id == tree.best), None)
    if best is not None:
        root = next((node.value for node in tree.nodes if node.parent is None and node.scored), None)
        yield f"- best: `{best.id}` with {tree.primary} {number(best.value)}, the root has {number(root)}"
        yield f"- how it came about: {_way(tree, best)}"
    cost, untold = sum(node.cost_usd for node in tree.nodes), sum(node.untold for node in tree.nodes)
    attempts = counted(sum(node.attempts for node in tree.nodes), "attempt")
    took = span(sum(node.wall_s for node in tree.nodes))
    yield f"- {counted(len(tree.nodes), 'task')}, {attempts}, {took} of work" + (
        f", {money(cost, guessed=untold)}" if cost else ""
    )
    yield "\n## Depths\n"
    yield from _table(
        _DEPTHS,
        (
            (
                d.depth,
                d.tasks,
                d.ended,
                d.failed,
                d.attempts,
                d.promoted,
                d.pruned,
                d.rejected,
                number(d.best),
                took_of(d.took_s),
            )
            for d in tree.depths()
        ),
    )
    for depth in sorted({node.depth for node in tree.nodes}):
        yield f"\n## Depth {depth}\n"
        yield from _table(_NODES, (_cells(node) for node in tree.nodes if node.depth == depth))
    yield ""


def _cells(node: TreeNode) -> Sequence[object]:
    rank = None if node.judgement is None else node.judgement.rank
    return (
        f"`{node.id}`",
        "" if node.parent is None else f"`{node.parent}`",
        node.idea or node.title,
        node.phase.value,
        node.attempts,
        span(node.wall_s),
        money(node.cost_usd, guessed=node.untold) if node.cost_usd else "",
        number(node.value),
        number(rank),
        "" if node.visits is None else node.visits,
        "" if node.worth is None else f"{node.worth:.3f}",
        node.decision,
        node.why,
    )


def _way(tree: Tree, best: TreeNode) -> str:
    by_id = {node.id: node for node in tree.nodes}
    names: list[str] = []
    node: TreeNode | None = best
    while node is not None:
        names.append(f"`{node.id}`" + (f" ({_plain(node.idea)})" if node.idea else ""))
        node = None if node.parent is None else by_id[node.parent]
    return " → ".join(reversed(names))


def _table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    yield f"| {' | '.join(heads)} |"
    yield f"|{'---|' * len(heads)}"
    for row in rows:
        yield f"| {' | '.join(_plain(cell) for cell in row)} |"


def _plain(cell: object) -> str:
    """Keep a cell in its line and its column, whatever an agent has written."""
    return re.sub(r"\s+", " ", str(cell)).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")


def graph_page(tree: Tree) -> str:
    """Draw the tree: candidates with their scores, and on the lines the ideas that lead to them."""
    return "\n".join(_graph(tree))


def _graph(tree: Tree) -> Iterator[str]:
    yield f"# Tree of run {tree.run}\n"
    yield "```mermaid"
    yield "graph TD"
    places = {node.id: place for place, node in enumerate(tree.nodes)}
    for place, node in enumerate(tree.nodes):
        said = [str(node.id), number(node.value) if node.score is not None else node.phase.value]
        opened, closed = ("([", "])") if not node.scored else ("[", "]")
        yield f'  n{place}{opened}"{"<br/>".join(map(_label, filter(None, said)))}"{closed}'
        if node.parent is not None:
            idea = _label(node.idea.rpartition("/")[2])
            said_on = f'|"{idea}"|' if idea else ""
            yield f"  n{places[node.parent]} -->{said_on} n{place}"
    for decision, colour in _COLOURS.items():
        members = [f"n{places[node.id]}" for node in tree.nodes if node.decision == decision]
        if members:
            yield f"  classDef {decision} {colour}"
            yield f"  class {','.join(members)} {decision}"
    yield "```\n"


def _label(text: str) -> str:
    """Write a text that Mermaid takes for nothing else."""
    plain = re.sub(r"\s+", " ", text)
    return "".join(c if c.isalnum() or c in " .,-_+/:()%" else f"#{ord(c)};" for c in plain)


def number(value: float | None) -> str:
    """Write a score."""
    return "" if value is None else f"{value:.6g}"


def took_of(seconds: float | None) -> str:
    """Write a time that may not be known."""
    return "" if seconds is None else span(seconds)
