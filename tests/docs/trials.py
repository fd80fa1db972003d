"""Pages whose rows are tried: a trial is registered under the left cell of its row, and each has the other."""

import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Generic, TypeVar

from tests.docs.pages import ROOT

Ground = TypeVar("Ground")
_ROW = re.compile(r"^\| (.+?) \| (.+) \|$")


def rows_of(text: str) -> Iterator[tuple[str, str]]:
    """Give every row of a page's tables, the head of each left out: left cell and right cell."""
    for line, below in pairwise([*text.splitlines(), ""]):
        match = _ROW.match(line)
        if match is not None and not below.startswith("|---"):
            yield match[1], match[2]


def named(trial: Callable[[Ground], None]) -> str:
    """Name a trial by the chapter that it is in, for a test's id."""
    return f"{trial.__module__.rpartition('.')[2]} {trial.__name__}"


class Trials(Generic[Ground]):
    """The trials of one page, by the left cells of its rows."""

    def __init__(self, page: str) -> None:
        self.text = (ROOT / page).read_text(encoding="utf-8")
        self.by_cell: dict[str, Callable[[Ground], None]] = {}

    def tries(self, *cells: str) -> Callable[[Callable[[Ground], None]], Callable[[Ground], None]]:
        """Register what tries the rows that begin with these cells."""

        def register(trial: Callable[[Ground], None]) -> Callable[[Ground], None]:
            for cell in cells:
                assert cell not in self.by_cell, f"two trials of {cell}"
                self.by_cell[cell] = trial
            return trial

        return register

    @property
    def all(self) -> list[Callable[[Ground], None]]:
        """List the trials, each once."""
        return list(dict.fromkeys(self.by_cell.values()))

    def check_whole(self) -> None:
        """Every row has a trial and every trial a row."""
        cells = [cell for cell, _ in rows_of(self.text)]
        assert len(cells) == len(set(cells))
        assert set(cells) ^ set(self.by_cell) == set()
