"""A drawing, as a program and a notebook have it.

Knows SVG as text. Must not know what is drawn.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from budwood.errors import UsageError

MOST = 300
"""So many tasks or attempts are drawn at most: what a page shows at once, and what a saved notebook can bear."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Drawing:
    """A picture of a run as it stood: SVG that needs nothing from outside, and stays in a saved notebook."""

    svg: str
    text: str
    """What it shows, in a sentence."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file, whose name ends in .svg; one that is there is replaced."""
        if Path(path).suffix.lower() != ".svg":
            raise UsageError(
                f"{os.fspath(path)} is no name for a drawing, which is SVG", hint="name a file that ends in .svg"
            )
        Path(path).write_text(self.svg, encoding="utf-8")

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"<{self.text}>"
