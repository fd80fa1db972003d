"""SVG, piece by piece: elements, colours for light and dark, and the whole document.

Knows text and numbers. Must not know runs. A document needs nothing from outside and runs nothing: notebooks keep it as
it is, or show it as an image. Whatever is written into it is text, never markup, and never what XML cannot hold.

Colours are attributes, which every program understands; a style replaces them where a browser says that it is dark.
The panel behind is opaque, so that a drawing can be read on any page, also on one that says nothing.
"""

import re
from collections.abc import Iterable
from unicodedata import east_asian_width

_COLOURS = {
    "ink": ("#1f2328", "#e6edf3"),
    "faint": ("#59636e", "#9da7b3"),
    "line": ("#c4ccd4", "#4a535e"),
    "panel": ("#ffffff", "#15181d"),
    "green": ("#1a7f4b", "#4cc38a"),
    "red": ("#c93c3c", "#ff7b72"),
    "amber": ("#9a5b00", "#e3a94a"),
    "grey": ("#6e7781", "#9aa4af"),
    "blue": ("#2563c9", "#79b0ff"),
}
"""By name: on light, on dark."""
CLASS = "budwood-drawing"
TEXT_PX = 11
CHARACTER_PX = 6.7
"""How wide a character of the fonts below is at that size; the widest of them counts."""
HALO = {"stroke": "panel", "stroke_width": 3, "paint_order": "stroke"}
"""For text that lines may run behind."""
_FONTS = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono','Liberation Mono',monospace"
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_MARKUP = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"})


def element(tag: str, *content: str, **attributes: object) -> str:
    """Write an element; `fill` and `stroke` are names of colours, `_` in other names stands for `-`."""
    classes = []
    written = []
    for name, value in attributes.items():
        if name in ("fill", "stroke") and value in _COLOURS:
            written.append(f' {name}="{_COLOURS[str(value)][0]}"')
            classes.append(f"{name[0]}-{value}")
        elif value is not None:
            written.append(f' {name.replace("_", "-")}="{escaped(_short(value))}"')
    if classes:
        written.append(f' class="{" ".join(classes)}"')
    inside = "".join(content)
    return f"<{tag}{''.join(written)}>{inside}</{tag}>" if inside else f"<{tag}{''.join(written)}/>"


def words(x: float, y: float, said: str, **attributes: object) -> str:
    """Write text whose middle line is at a height."""
    given = {"fill": "ink", **attributes}
    return element("text", escaped(said), x=x, y=y + 0.35 * TEXT_PX, **given)


def title(*lines: str) -> str:
    """Write what is shown where somebody points at an element."""
    return element("title", escaped("\n".join(line for line in lines if line)))


def document(width: float, height: float, *parts: str, label: str) -> str:
    """Put a drawing together; the label is what it says to who cannot see it."""
    panel = element("rect", x=0.5, y=0.5, width=width - 1, height=height - 1, rx=6, fill="panel", stroke="line")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="{CLASS}" role="img" aria-label="{escaped(label)}" '
        f'width="{_short(width)}" height="{_short(height)}" viewBox="0 0 {_short(width)} {_short(height)}" '
        f'font-family="{_FONTS}" font-size="{TEXT_PX}">{_style()}{panel}{"".join(parts)}</svg>'
    )


def width_of(said: str) -> float:
    """Say how wide a text is at most."""
    return CHARACTER_PX * sum(2 if east_asian_width(each) in "WF" else 1 for each in said)


def cut(said: str, width_px: float) -> str:
    """Shorten a text to a width, and show that it was."""
    said = " ".join(said.split())
    if width_of(said) <= width_px:
        return said
    while said and width_of(said) > width_px - CHARACTER_PX:
        said = said[:-1]
    return f"{said}…" if width_px >= CHARACTER_PX else ""


def escaped(said: str) -> str:
    """Make text of anything."""
    return _NOT_XML.sub("\ufffd", said).translate(_MARKUP)


def path(points: Iterable[tuple[float, float]]) -> str:
    """Write the lines between points as data of a path."""
    return "M" + "L".join(f"{_short(x)} {_short(y)}" for x, y in points)


def _style() -> str:
    rules = [
        f".{CLASS} .{kind[0]}-{name}{{{kind}:{dark}}}"
        for name, (_, dark) in _COLOURS.items()
        for kind in ("fill", "stroke")
    ]
    return f"<style>@media (prefers-color-scheme:dark){{{''.join(rules)}}}</style>"


def _short(value: object) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
