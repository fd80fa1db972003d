"""A run's progress as a small picture: HTML for notebooks, text for everything else.

Knows numbers and words. Must not know where they come from or who looks. Whatever a task is called, it is text in the
picture, never markup.
"""

from dataclasses import dataclass
from html import escape

from budwood._core.model import TaskPhase
from budwood.project.times import rough, span
from budwood.project.words import money

MOST_ROWS = 8
_COLOURS = {
    TaskPhase.DONE: "#2e9e5b",
    TaskPhase.FAILED: "#d64545",
    TaskPhase.SKIPPED: "#c98a1b",
    TaskPhase.CANCELLED: "#8a8a8a",
    TaskPhase.ACTIVE: "#3b7dd8",
}
_COUNTED = (TaskPhase.DONE, TaskPhase.FAILED, TaskPhase.SKIPPED, TaskPhase.CANCELLED)
_CELL = "padding:0 1.2em 0 0;text-align:left;border:none;background:none;font:inherit;color:inherit"


@dataclass(frozen=True, slots=True)
class Row:
    """A line about one task: what runs and for how long, or what failed and why."""

    task: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """What there is to see of a run."""

    name: str
    state: str
    """In words: a state, or why nothing starts."""
    counts: dict[TaskPhase, int]
    running: tuple[Row, ...] = ()
    failed: tuple[Row, ...] = ()
    elapsed_s: float = 0.0
    left_s: float | None = None
    cost_usd: float = 0.0

    @property
    def planned(self) -> int:
        """How many tasks the run wants."""
        return sum(self.counts.values())

    @property
    def ended(self) -> int:
        """How many of them have ended."""
        return sum(self.counts[phase] for phase in _COUNTED)


def facts(picture: Picture) -> str:
    """Write time, time left and cost."""
    told = [f"{picture.ended}/{picture.planned}", span(picture.elapsed_s)]
    if picture.left_s is not None:
        told.append(f"about {rough(picture.left_s)} left")
    if picture.cost_usd:
        told.append(money(picture.cost_usd))
    return "  ".join(told)


def _numbers(picture: Picture) -> list[tuple[str, TaskPhase | None]]:
    told = [(f"{picture.counts[p]} {p.value}", p) for p in _COUNTED if picture.counts[p] or p is TaskPhase.DONE]
    others: list[tuple[str, TaskPhase | None]] = [*told]
    if picture.counts[TaskPhase.ACTIVE]:
        others.append((f"{picture.counts[TaskPhase.ACTIVE]} running", TaskPhase.ACTIVE))
    waiting = picture.counts[TaskPhase.READY] + picture.counts[TaskPhase.BLOCKED]
    return [*others, (f"{waiting} to come", None)] if waiting else others


def as_text(picture: Picture) -> str:
    """Draw it without markup."""
    lines = [f"{picture.name}  {picture.state}  {facts(picture)}"]
    lines.append("  " + ", ".join(text for text, _ in _numbers(picture)))
    lines += (f"  {row.text:>8}  {row.task}" for row in picture.running[:MOST_ROWS])
    lines += (f"  failed  {row.task}  {row.text}" for row in picture.failed[:MOST_ROWS])
    return "\n".join(lines)


def as_html(picture: Picture) -> str:
    """Draw it for a notebook: no script, no outside style, readable on light and on dark."""
    parts = [
        '<div class="budwood-run" style="font-family:var(--jp-ui-font-family,system-ui,sans-serif);font-size:13px;'
        'line-height:1.6;max-width:44em">',
        f'<div><b>{escape(picture.name)}</b> <span style="opacity:.7">{escape(picture.state)}</span>'
        f'<span style="float:right;opacity:.85;white-space:pre">{escape(facts(picture))}</span></div>',
        _bar(picture),
        "<div>" + " &nbsp; ".join(_number(text, phase) for text, phase in _numbers(picture)) + "</div>",
        _table(picture.running, _COLOURS[TaskPhase.ACTIVE], more="running"),
        _table(picture.failed, _COLOURS[TaskPhase.FAILED], more="failed"),
        "</div>",
    ]
    return "".join(parts)


def _bar(picture: Picture) -> str:
    """Draw one piece for each kind of end, and one for what runs."""
    planned = max(1, picture.planned)
    pieces = [
        f'<div style="width:{100 * picture.counts[phase] / planned:.2f}%;background:{colour}"></div>'
        for phase, colour in _COLOURS.items()
        if picture.counts[phase]
    ]
    label = f"{picture.ended} of {picture.planned} tasks have ended"
    return (
        f'<div role="progressbar" aria-label="{label}" aria-valuemin="0" aria-valuemax="{picture.planned}" '
        f'aria-valuenow="{picture.ended}" style="display:flex;height:8px;border-radius:4px;overflow:hidden;'
        f'margin:4px 0;background:rgba(128,128,128,.25)">{"".join(pieces)}</div>'
    )


def _number(text: str, phase: TaskPhase | None) -> str:
    colour = _COLOURS.get(phase, "inherit") if phase is not None else "inherit"
    return f'<span style="color:{colour}">{escape(text)}</span>'


def _table(rows: tuple[Row, ...], colour: str, *, more: str) -> str:
    if not rows:
        return ""
    lines = [
        f'<tr style="background:none"><td style="{_CELL};color:{colour}">{escape(row.task)}</td>'
        f'<td style="{_CELL};opacity:.85">{escape(row.text)}</td></tr>'
        for row in rows[:MOST_ROWS]
    ]
    rest = len(rows) - MOST_ROWS
    if rest > 0:
        lines.append(f'<tr style="background:none"><td style="{_CELL};opacity:.7">and {rest} more {more}</td></tr>')
    style = "border:none;margin:2px 0;border-collapse:collapse;font:inherit;color:inherit"
    return f'<table style="{style}">{"".join(lines)}</table>'
