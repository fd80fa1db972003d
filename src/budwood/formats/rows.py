"""Rows of others' tables: what stands in their cells, and where.

Knows how PostgreSQL writes a number, a truth and a list of numbers. Must not know what a column means.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from budwood._core.model import TaskId
from budwood.errors import PlanError

_WHOLE = re.compile(r"[-+]?\d+")
_TRUTHS = {"t": True, "true": True, "f": False, "false": False}


@dataclass(frozen=True, slots=True)
class Row:
    """One row: its cells by column, as text or as JSON has them; None is null."""

    where: str
    """The file, and the line or the row's number."""
    table: str
    cells: Mapping[str, object]

    def name(self, column: str) -> TaskId | None:
        """Read an id: a number where it is one."""
        value = self.cells.get(column)
        if value is None:
            return None
        text = str(value).strip()
        return int(text) if _WHOLE.fullmatch(text) else text

    def whole(self, column: str) -> int | None:
        """Read a whole number."""
        found = self.name(column)
        if found is None or isinstance(found, int):
            return found
        raise self.unfit(column, "a whole number")

    def text(self, column: str) -> str:
        """Read text; null is empty."""
        value = self.cells.get(column)
        return "" if value is None else str(value)

    def truth(self, column: str) -> bool:
        """Read true or false; null is false."""
        value = self.cells.get(column)
        if value is None or isinstance(value, bool):
            return bool(value)
        found = _TRUTHS.get(str(value).strip().casefold())
        if found is None:
            raise self.unfit(column, "true or false")
        return found

    def names(self, column: str) -> list[TaskId]:
        """Read a list of ids: `{1,2}`, as PostgreSQL writes an array, or a list of JSON's."""
        value = self.cells.get(column)
        if value is None:
            return []
        if isinstance(value, list):
            texts = [str(entry) for entry in value]
        else:
            written = str(value).strip()
            if written[:1] + written[-1:] not in ("{}", "[]"):
                raise self.unfit(column, "a list of ids: {1,2}")
            inside = written[1:-1].strip()
            texts = [part.strip(' "') for part in inside.split(",")] if inside else []
        if not all(texts):
            raise self.unfit(column, "a list of ids: {1,2}")
        return [int(text) if _WHOLE.fullmatch(text) else text for text in texts]

    def unfit(self, column: str, wants: str) -> PlanError:
        """Say that a cell holds what it cannot hold."""
        return PlanError(f"{self.where}: {column} of {self.table} is {self.cells.get(column)!r}; it takes {wants}")
