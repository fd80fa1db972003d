"""Text for a terminal: what could move its cursor or change its state is made visible, what is too wide is cut.

Knows characters only. What goes into a pipe is left as it is: whoever reads it decides.
"""

import os
import re
import sys

import click

_SGR = re.compile(r"(\x1b\[[0-9;:]*m)")
_UNSAFE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Control characters, and those that reorder what stands beside them: a line could say the opposite of what it is."""
_RESET = "\x1b[0m"
_COLOURS = {
    "done": "green",
    "finished": "green",
    "succeeded": "green",
    "merged": "green",
    "failed": "red",
    "conflict": "red",
    "broken": "red",
    "timed_out": "red",
    "abandoned": "red",
    "paused": "yellow",
    "waiting": "yellow",
    "held": "yellow",
    "skipped": "yellow",
    "cancelled": "yellow",
    "active": "cyan",
    "running": "cyan",
    "merging": "cyan",
}


def is_terminal() -> bool:
    """Say whether standard output is somebody's screen."""
    return sys.stdout.isatty()


def has_colour() -> bool:
    """Say whether colour may be used on standard output."""
    return is_terminal() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def tinted(text: str, phase: str = "") -> str:
    """Colour a text as a phase's name is coloured, where colour is wanted; by default the text is that name."""
    colour = _COLOURS.get(phase or text)
    return click.style(text, fg=colour) if colour and has_colour() else text


def bold(text: str) -> str:
    """Make a heading stand out, where that is wanted."""
    return click.style(text, bold=True) if has_colour() else text


def dim(text: str) -> str:
    """Make a remark step back, where that is wanted."""
    return click.style(text, dim=True) if has_colour() else text


def one_line(text: str) -> str:
    """Put a text into one safe line: white space is one blank, control characters are seen."""
    return _UNSAFE.sub(_seen, " ".join(text.split()))


def at_home(path: str) -> str:
    """Shorten a path below the home directory."""
    home = os.path.expanduser("~")
    return f"~{path[len(home) :]}" if path.startswith(f"{home}/") else path


def visible(text: str, *, colour: bool = False) -> str:
    """Show what a program printed: control characters as ^@ or \\x9b; its colours are kept or left out."""
    return "\n".join(_visible_line(line, colour=colour) for line in text.replace("\r\n", "\n").split("\n"))


def _visible_line(line: str, *, colour: bool) -> str:
    parts = _SGR.split(line)
    shown = [(_UNSAFE.sub(_seen, part) if n % 2 == 0 else part if colour else "") for n, part in enumerate(parts)]
    return "".join(shown) + (_RESET if colour and len(parts) > 1 and parts[-2] not in (_RESET, "\x1b[m") else "")


def width(text: str) -> int:
    """Count the columns that a text takes."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def cut(text: str, columns: int) -> str:
    """Shorten a text to so many columns; an ellipsis says that something is missing."""
    if width(text) <= columns:
        return text
    if text.isascii():
        return f"{text[: max(0, columns - 1)]}…"
    from rich.cells import set_cell_size

    return f"{set_cell_size(text, max(0, columns - 1)).rstrip()}…"


def _seen(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 32 or code == 127:
        return f"^{chr(code ^ 64)}"
    return f"\\x{code:02x}" if code < 160 else f"\\u{code:04x}"
