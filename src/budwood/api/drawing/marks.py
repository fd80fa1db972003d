"""Marks for what became of tasks and attempts: a shape and a colour each, so that either is enough to tell them apart.

Knows words and SVG. Must not know runs.
"""

import math
from collections.abc import Collection
from dataclasses import dataclass

from budwood.api.drawing.svg import element, width_of, words

RADIUS = 5.0


@dataclass(frozen=True, slots=True)
class Mark:
    """How one word is drawn."""

    shape: str
    colour: str
    filled: bool = True


MARKS = {
    "best": Mark("star", "green"),
    "chosen": Mark("target", "green", filled=False),
    "promoted": Mark("disc", "green"),
    "kept": Mark("disc", "green", filled=False),
    "pruned": Mark("square", "grey", filled=False),
    "rejected": Mark("diamond", "red", filled=False),
    "scored": Mark("disc", "blue"),
    "off the scale": Mark("diamond", "blue", filled=False),
    "not valid": Mark("barred", "amber", filled=False),
    "done": Mark("disc", "green"),
    "succeeded": Mark("disc", "green"),
    "failed": Mark("cross", "red", filled=False),
    "timed out": Mark("diamond", "amber"),
    "skipped": Mark("down", "amber", filled=False),
    "cancelled": Mark("square", "grey"),
    "abandoned": Mark("down", "grey"),
    "running": Mark("right", "blue"),
    "to come": Mark("dash", "grey", filled=False),
}
"""By word, in the order of the legend."""


def draw_mark(word: str, x: float, y: float, *, radius: float = RADIUS) -> str:
    """Draw the mark of a word at a point."""
    mark = MARKS[word]
    fill = mark.colour if mark.filled else "panel"
    look = {"fill": fill, "stroke": mark.colour, "stroke_width": 1.6}
    r = radius
    if mark.shape == "disc":
        return element("circle", cx=x, cy=y, r=r - 0.5, **look)
    if mark.shape == "target":
        inner = element("circle", cx=x, cy=y, r=r * 0.4, fill=mark.colour)
        return element("circle", cx=x, cy=y, r=r, **look) + inner
    if mark.shape == "barred":
        bar = f"M{x - 0.7 * r:.1f} {y + 0.7 * r:.1f}L{x + 0.7 * r:.1f} {y - 0.7 * r:.1f}"
        ring = element("circle", cx=x, cy=y, r=r - 0.5, **look)
        return ring + element("path", d=bar, stroke=mark.colour, stroke_width=1.6)
    if mark.shape == "square":
        return element("rect", x=x - r + 1, y=y - r + 1, width=2 * r - 2, height=2 * r - 2, **look)
    if mark.shape == "cross":
        arms = f"M{x - r + 1:.1f} {y - r + 1:.1f}l{2 * r - 2} {2 * r - 2}m0 {2 - 2 * r}l{2 - 2 * r} {2 * r - 2}"
        return element("path", d=arms, fill="none", stroke=mark.colour, stroke_width=2.2)
    if mark.shape == "dash":
        return element("circle", cx=x, cy=y, r=r - 1, **look, stroke_dasharray="2 2")
    return element("polygon", points=_corners(mark.shape, x, y, r), **look)


def _corners(shape: str, x: float, y: float, r: float) -> str:
    if shape == "star":
        turns = [(1.5 * r if n % 2 == 0 else 0.65 * r, math.pi * (n / 5 - 0.5)) for n in range(10)]
        corners = [(far * math.cos(turn), far * math.sin(turn)) for far, turn in turns]
    else:
        corners = {
            "diamond": [(0.0, -r), (r, 0.0), (0.0, r), (-r, 0.0)],
            "down": [(-r, 1 - r), (r, 1 - r), (0.0, r)],
            "right": [(1 - r, -r), (r, 0.0), (1 - r, r)],
        }[shape]
    return " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in corners)


def draw_legend(used: Collection[str], x: float, y: float) -> str:
    """Draw what the marks that were used mean, in one row."""
    parts = []
    for word in MARKS:
        if word in used:
            parts.append(draw_mark(word, x + RADIUS, y, radius=4.0) + words(x + 2 * RADIUS + 5, y, word, fill="faint"))
            x += legend_width([word])
    return "".join(parts)


def legend_width(used: Collection[str]) -> float:
    """Say how wide such a row is."""
    return sum(2 * RADIUS + 21 + width_of(word) for word in used)
