"""A file of results, as rows of numbers: CSV with a header, JSON with a list of objects, or JSON lines.

A cell that is empty or no number is missing from its row. Must not know commands.
"""

import csv
import json
from collections.abc import Sequence
from pathlib import Path

from budwood.scoring.reading import Unreadable

_MOST_BYTES = 64 * 1024 * 1024


def read_rows(path: Path) -> list[dict[str, float]]:
    """Read a file of results."""
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise Unreadable(f"{path.name} has more than {_MOST_BYTES // 1024**2} MiB")
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise Unreadable(f"its results file cannot be read: {error}") from error
    if path.suffix.casefold() in (".json", ".jsonl", ".ndjson"):
        return [_numbers(row) for row in _json_rows(text, path.name)]
    return [_numbers(row) for row in csv.DictReader(text.splitlines())]


def means(rows: Sequence[dict[str, float]]) -> tuple[dict[str, float], list[str]]:
    """Return the mean of each column, and the columns that some row lacks, which have none."""
    names = dict.fromkeys(name for row in rows for name in row)
    lacking = [name for name in names if any(name not in row for row in rows)]
    return {name: sum(row[name] for row in rows) / len(rows) for name in names if name not in lacking}, lacking


def _json_rows(text: str, name: str) -> list[dict[str, object]]:
    try:
        if name.casefold().endswith(".json"):
            found: object = json.loads(text)
        else:
            found = [json.loads(line) for line in text.splitlines() if line.strip()]
    except ValueError as error:
        raise Unreadable(f"{name} is no JSON: {error}") from error
    rows = [found] if isinstance(found, dict) else found
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise Unreadable(f"{name} holds no list of objects")
    return rows


def _numbers(row: dict[str, object] | dict[str | None, str | list[str]]) -> dict[str, float]:
    found: dict[str, float] = {}
    for name, cell in row.items():
        try:
            if isinstance(name, str) and isinstance(cell, str | int | float) and not isinstance(cell, bool):
                found[name] = float(cell)
        except ValueError:
            continue
    return found
