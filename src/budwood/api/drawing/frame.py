"""What all drawings have around them: a sentence above, the meaning of the marks and what is left out below.

Knows SVG and marks. Must not know what is drawn.
"""

from collections.abc import Collection, Sequence

from budwood.api.drawing.drawing import Drawing
from budwood.api.drawing.marks import draw_legend, legend_width
from budwood.api.drawing.svg import document, width_of, words

MARGIN_PX = 18.0
HEAD_PX = 44.0
"""Where what is drawn begins."""
_LINE_PX = 18.0


def framed(
    said: str,
    parts: Sequence[str],
    *,
    width: float,
    bottom: float,
    used: Collection[str] = (),
    notes: Sequence[str] = (),
) -> Drawing:
    """Put a sentence above what was drawn, and the marks that were used and some notes below it."""
    below = bottom + _LINE_PX
    lines = [words(MARGIN_PX, 22, said, font_weight="bold")]
    wide = [width, width_of(said)]
    if used:
        lines.append(draw_legend(used, MARGIN_PX, below))
        wide.append(legend_width(used))
        below += _LINE_PX
    for note in notes:
        lines.append(words(MARGIN_PX, below, note, fill="faint"))
        wide.append(width_of(note))
        below += _LINE_PX
    svg = document(max(wide) + 2 * MARGIN_PX, below, *parts, *lines, label=". ".join((said, *notes)))
    return Drawing(svg=svg, text=said)


def left_out(count: int, *, what: str = "") -> list[str]:
    """Say how many are not drawn."""
    return [f"and {count:,} more{what}"] if count else []
