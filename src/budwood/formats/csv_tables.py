"""Tables as CSV with a header, as psql with "csv header" writes them, read into rows of text.

Knows CSV. Must not know whose tables they are, or what a column means.
"""

import csv
import io

from budwood.errors import PlanError
from budwood.formats.rows import Row

_HINT = "write it anew: \\copy tasks to tasks.csv csv header"


def read_csv(text: str, *, table: str, path: str) -> list[Row]:
    """Read the rows; an empty cell is null. What is broken raises PlanError with its line."""
    csv.field_size_limit(2**31 - 1)  # an action may be a long text
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    rows: list[Row] = []
    try:
        columns = next(reader, [])
        last = reader.line_num
        for cells in reader:
            line, last = last + 1, reader.line_num  # a cell may have several lines
            if cells and len(cells) != len(columns):
                raise PlanError(f"{path}:{line}: a row of {len(cells)} cells for {len(columns)} columns", hint=_HINT)
            if cells:
                given = {column: cell or None for column, cell in zip(columns, cells, strict=True)}
                rows.append(Row(f"{path}:{line}", table, given))
    except csv.Error as problem:
        raise PlanError(f"{path}:{reader.line_num}: not CSV: {problem}", hint=_HINT) from None
    return rows
