"""JSON records out of output in which anything may stand: two streams mixed, lines cut, bytes that are no text.

Knows JSON and the mark that a shortened log carries; must not know what any record means.
"""

import json
import math
import re

import msgspec
from msgspec import Struct

Entry = dict[str, object] | str
"""A record, or a line that is none."""

DROPPED = re.compile(r"\[budwood: \d+ bytes dropped here\]")
"""What stands for the middle of an output that was too long."""
_COLOUR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")
_BROKEN = re.compile(r'[{\[]|[}\]]+,?$|"[\w.-]+"\s*:')
"""How a line looks that was part of a record."""
_LINE_CHARS = 300


class Transcript(Struct, frozen=True, kw_only=True):
    """What a program printed, in order."""

    entries: tuple[Entry, ...]
    cut: bool
    """Whether the middle is missing."""

    def records(self) -> list[dict[str, object]]:
        """Return the records alone."""
        return [entry for entry in self.entries if isinstance(entry, dict)]

    def lines(self, *, after: int = -1) -> list[str]:
        """Return the lines that are no records, from behind the entry with this index."""
        return [entry for entry in self.entries[after + 1 :] if isinstance(entry, str)]

    def has(self, *types: str) -> bool | None:
        """Say whether there is a record of one of these types; None where it may have been in the missing middle."""
        return self.find_last(*types) >= 0 or (None if self.cut else False)

    def find_last(self, *types: str) -> int:
        """Return the index of the last record whose `type` is one of these, or -1."""
        for index in range(len(self.entries) - 1, -1, -1):
            entry = self.entries[index]
            if isinstance(entry, dict) and entry.get("type") in types:
                return index
        return -1


def transcribe(output: bytes) -> Transcript:
    """Take output apart. A piece of a record is dropped: what it says may be anybody's words."""
    text = output.decode("utf-8", "replace")
    entries: list[Entry] = []
    cut = after_cut = too_deep = False
    at = before = 0
    while at < len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        line = text[at:end].strip("\r\0 \t")
        begins, at = at, end + 1
        if DROPPED.fullmatch(line):
            # The lines on both sides of the mark may be pieces of records.
            entries[before:] = [entry for entry in entries[before:] if isinstance(entry, dict)]
            cut = after_cut = True
            continue
        before = len(entries)
        found: object = None
        if line == "{" and not too_deep:
            found, at, too_deep = _decode_lines(text, begins, otherwise=at)
        elif line[:1] in ("{", "["):
            found = _decode(line)
        records = [each for each in (found if isinstance(found, list) else [found]) if isinstance(each, dict)]
        entries.extend(records)
        if not records and not after_cut and not _BROKEN.match(line):
            entries.extend(piece for piece in map(plain, line.split("\r")) if piece)
        after_cut = False
    return Transcript(entries=tuple(entries), cut=cut)


def _decode(line: str) -> object:
    try:
        return msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return None


def _decode_lines(text: str, begins: int, *, otherwise: int) -> tuple[object, int, bool]:
    """Read a record that is spread over lines; say where the text goes on, and whether it nests beyond reason."""
    try:
        found, end = json.JSONDecoder().raw_decode(text, text.index("{", begins))
    except RecursionError:
        # Every further line that opens a record would be followed as deep again.
        return None, otherwise, True
    except ValueError:
        return None, otherwise, False
    line_end = text.find("\n", end)
    line_end = len(text) if line_end < 0 else line_end
    if text[end:line_end].strip():
        return None, otherwise, False
    return found, line_end + 1, False


def plain(text: str) -> str:
    """Return text without colours and what cannot be written."""
    return _COLOUR.sub("", text).encode("utf-8", "replace").decode().replace("\0", "").strip()


def one_line(text: str) -> str:
    """Fit text into one line of a message."""
    joined = " ".join(plain(text).split())
    return joined if len(joined) <= _LINE_CHARS else joined[: _LINE_CHARS - 1] + "…"


def part(record: object, *path: str) -> dict[str, object]:
    """Return what stands in a record at this path, empty where that is no record."""
    for name in path:
        record = record.get(name) if isinstance(record, dict) else None
    return record if isinstance(record, dict) else {}


def text_at(record: object, *path: str) -> str:
    """Return the text that stands in a record at this path, "" where there is none."""
    value = part(record, *path[:-1]).get(path[-1])
    return value if isinstance(value, str) else ""


def number_at(record: object, *path: str) -> float | None:
    """Return the number that stands in a record at this path, where it is one that can be counted with."""
    value = part(record, *path[:-1]).get(path[-1])
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if value >= 0 and (isinstance(value, int) or math.isfinite(value)) else None


def count_at(record: object, *path: str) -> int:
    """Return the count that stands in a record at this path, 0 where there is none."""
    return int(number_at(record, *path) or 0)


def items_at(record: object, *path: str) -> list[object]:
    """Return the list that stands in a record at this path, empty where that is none."""
    value = part(record, *path[:-1]).get(path[-1])
    return value if isinstance(value, list) else []
