"""Pictures of a plan: Mermaid, plain text, and the rows of a table. Batches are numbered from 1.

Knows plans and graphs. Must not know a terminal: it returns text.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap

from budwood._core.graph import Graph, batches
from budwood._core.model import TaskId
from budwood._core.suggest import did_you_mean
from budwood.errors import NoSuchId
from budwood.plans.plan import Plan

WIDTH = 80
_GLUE = "\0"
"""No id has it, and nothing is wrapped at it."""
_ENTITIES = {ord(char): f"#{ord(char)};" for char in '"#&<>`\\[](){}|;*$'}
_LISTLIKE = re.compile(r"^(\d+|[-*+])(?=[.) ])")


@dataclass(frozen=True, slots=True)
class BatchRow:
    """One batch: its number, its tasks, the lanes they are in."""

    number: int
    tasks: list[TaskId]
    lanes: list[TaskId]


def batch_rows(graph: Graph, plan: Plan, *, lane: TaskId | None = None, batch: int | None = None) -> list[BatchRow]:
    """List the batches, or what is left of them when only one lane or batch is wanted."""
    return [
        BatchRow(
            number,
            [graph.ids[task] for task in tasks],
            list(dict.fromkeys(name for task in tasks if (name := plan.tasks[task].lane) is not None)),
        )
        for number, tasks in _chosen(graph, plan, lane=lane, batch=batch)
    ]


def to_mermaid(graph: Graph, plan: Plan, *, lane: TaskId | None = None, batch: int | None = None) -> str:
    """Draw a Mermaid flowchart: an arrow leads from a task to what waits for it, dashed where it is only a wish."""
    shown = sorted(task for _, tasks in _chosen(graph, plan, lane=lane, batch=batch) for task in tasks)
    inside: dict[str, list[int]] = {}
    for task in shown:
        inside.setdefault("" if plan.tasks[task].lane is None else str(plan.tasks[task].lane), []).append(task)
    lines = ["flowchart TD"]
    for number, given in enumerate(plan.lanes):
        if str(given.id) in inside:
            lines.append(f'  subgraph lane{number}["{_label(given.name or str(given.id))}"]')
            lines += [f"    {_node(graph, plan, task)}" for task in inside[str(given.id)]]
            lines.append("  end")
    lines += [f"  {_node(graph, plan, task)}" for task in inside.get("", [])]
    visible = set(shown)
    for edges, arrow in ((graph.hard, "-->"), (graph.soft, "-.->")):
        lines += [f"  t{before} {arrow} t{task}" for task in shown for before in edges[task] if before in visible]
    return "\n".join(lines) + "\n"


def to_ascii(
    graph: Graph, plan: Plan, *, lane: TaskId | None = None, batch: int | None = None, width: int = WIDTH
) -> str:
    """Write the batches as text: under each its tasks, and after each task what it waits for."""
    lines: list[str] = []
    soft = False
    for number, tasks in _chosen(graph, plan, lane=lane, batch=batch):
        lines += ["", f"Batch {number}"] if lines else [f"Batch {number}"]
        for task in tasks:
            soft = soft or bool(graph.soft[task])
            lines += _line(graph, plan, task, width=width)
    if soft:
        lines += ["", "<~ prefers to come after, but does not wait"]
    return "\n".join(lines) + "\n" if lines else ""


def _line(graph: Graph, plan: Plan, task: int, *, width: int) -> list[str]:
    parts = [_plain(graph.ids[task])]
    if plan.tasks[task].lane is not None:
        parts.append(f"[{_plain(plan.tasks[task].lane)}]")
    for edges, arrow in ((graph.hard[task], "<-"), (graph.soft[task], "<~")):
        if edges:
            parts.append(f"{arrow} " + ", ".join(_plain(graph.ids[before]) for before in edges))
    wrapped = wrap(
        " ".join(parts),
        width,
        initial_indent="  ",
        subsequent_indent="      ",
        break_on_hyphens=False,
        break_long_words=False,
    )
    return [line.replace(_GLUE, " ") for line in wrapped]


def _plain(name: TaskId | None) -> str:
    """Keep an id in one piece while lines are wrapped."""
    return str(name).replace(" ", _GLUE)


def _node(graph: Graph, plan: Plan, task: int) -> str:
    name, about = str(graph.ids[task]), plan.tasks[task].description
    return f't{task}["{_label(f"{name}: {about}" if about else name)}"]'


def _label(text: str) -> str:
    """Escape what Mermaid would read as markup, and what its Markdown would take for a list."""
    plain = "".join(char for char in " ".join(text.split()) if char.isprintable()).translate(_ENTITIES)
    return _LISTLIKE.sub(lambda match: "".join(f"#{ord(char)};" for char in match[1]), plain) or " "


def _chosen(graph: Graph, plan: Plan, *, lane: TaskId | None, batch: int | None) -> list[tuple[int, Sequence[int]]]:
    rows: list[tuple[int, Sequence[int]]] = list(enumerate(batches(graph), start=1))
    if batch is not None:
        if not 1 <= batch <= len(rows):
            raise NoSuchId(f"there is no batch {batch} in {plan.path}", hint=f"its batches are 1 to {len(rows)}")
        rows = rows[batch - 1 : batch]
    if lane is not None:
        names = [str(given.id) for given in plan.lanes]
        if str(lane) not in names:
            raise NoSuchId(
                f"there is no lane {str(lane)!r} in {plan.path}",
                hint=did_you_mean(str(lane), names)
                or (f"its lanes are {', '.join(names)}" if names else "it has none"),
            )
        rows = [(number, [task for task in tasks if str(plan.tasks[task].lane) == str(lane)]) for number, tasks in rows]
    return [(number, tasks) for number, tasks in rows if tasks]
