"""Plain dumps of PostgreSQL: what `pg_dump` writes, with COPY blocks or with --inserts, read into rows of text.

Knows SQL as far as dumps have it, and passes over the rest. Must not know whose tables they are, or what columns mean.
"""

import re
from collections.abc import Container, Iterator
from dataclasses import dataclass

from budwood.errors import PlanError
from budwood.formats.rows import Row

_TOKEN = re.compile(
    r"""(?P<blank>\s+|--[^\n]*|/\*.*?\*/)
    | (?P<escaped>[eE]'[^'\\]*(?:(?:\\.|'')[^'\\]*)*')
    | (?P<string>'[^']*(?:''[^']*)*')
    | (?P<dollar>\$(?P<tag>\w*)\$.*?\$(?P=tag)\$)
    | (?P<quoted>"[^"]*(?:""[^"]*)*")
    | (?P<word>[^\W\d][\w$]*)
    | (?P<number>[-+]?\d[\w.]*)
    | (?P<sign>.)""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{1,2})|([0-7]{1,3})|(.))", re.DOTALL)
_LETTERS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_NOT_COLUMNS = frozenset({"CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN", "EXCLUDE", "LIKE"})
_WORDS = {"NULL": None, "TRUE": "t", "FALSE": "f"}
_END = "\\.\n"
_CUT_OFF = "the dump is cut off; make it anew"


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    at: int

    @property
    def upper(self) -> str:
        """The word, if it is one."""
        return self.text.upper() if self.kind == "word" else self.text

    @property
    def value(self) -> str:
        """What a name or a string says, without its quotes."""
        match self.kind:
            case "quoted":
                return self.text[1:-1].replace('""', '"')
            case "string":
                return self.text[1:-1].replace("''", "'")
            case "escaped":
                return _unescaped(self.text[2:-1].replace("''", "'"))
        return self.text


def read_dump(text: str, *, path: str, tables: Container[str]) -> dict[str, list[Row]]:
    """Read the rows of these tables; what is broken raises PlanError with its line."""
    return _Dump(text if text.endswith("\n") else f"{text}\n", path, tables).read()


class _Dump:
    """A dump as it is gone through, statement by statement."""

    def __init__(self, text: str, path: str, tables: Container[str]) -> None:
        # Where a whole file has Windows' ends of lines, they are no part of what it holds: COPY writes its own as \r.
        self._text = text.replace("\r\n", "\n") if text.partition("\n")[0].endswith("\r") else text
        self._path = path
        self._tables = tables
        self._at = 0
        self._columns: dict[str, list[str]] = {}
        self._found: dict[str, list[Row]] = {}
        self._counted = (0, 1)
        """A place, and its line."""

    def read(self) -> dict[str, list[Row]]:
        """Read to the end."""
        while (first := self._first()) is not None:
            match first.upper:
                case "COPY":
                    self._copy(first)
                case "CREATE":
                    self._create(self._statement(first))
                case "INSERT":
                    self._insert(self._statement(first))
                case _:
                    self._statement(first)
        return self._found

    def _first(self) -> _Token | None:
        """Find the beginning of the next statement; lines for psql itself begin with a backslash."""
        for token in self._tokens():
            if token.text != "\\":
                return token
            self._at = self._text.index("\n", self._at)
        return None

    def _tokens(self) -> Iterator[_Token]:
        while self._at < len(self._text):
            match = _TOKEN.match(self._text, self._at)
            assert match is not None  # a sign is any character
            token = _Token(match.lastgroup or "", match[0], self._at)
            self._at = match.end()
            if token.kind == "blank":
                continue
            if token.kind == "sign" and token.text in "'\"":
                raise self._error(token.at, "a text that is never closed", hint=_CUT_OFF)
            yield token

    def _statement(self, first: _Token) -> list[_Token]:
        """Take everything up to the semicolon."""
        taken = [first]
        if first.text == ";":
            return taken
        for token in self._tokens():
            if token.text == ";":
                return taken
            taken.append(token)
        raise self._error(first.at, f"{first.text} that never ends", hint=_CUT_OFF)

    def _create(self, tokens: list[_Token]) -> None:
        """Remember the columns of a table: INSERT does not always name them."""
        words = [token.upper for token in tokens[:3]]
        if "TABLE" not in words:
            return
        table, rest = _named(tokens[words.index("TABLE") + 1 :])
        if table in self._tables and rest and rest[0].text == "(":
            parts, _ = _parted(rest)
            self._columns[table] = [
                part[0].value
                for part in parts
                if part and (part[0].kind == "quoted" or part[0].upper not in _NOT_COLUMNS)
            ]

    def _copy(self, first: _Token) -> None:
        tokens = self._statement(first)
        table, rest = _named(tokens[1:])
        if "STDIN" not in [token.upper for token in rest]:
            return
        self._at = self._text.index("\n", self._at) + 1
        end = self._at if self._text.startswith(_END, self._at) else self._text.find(f"\n{_END}", self._at) + 1
        if not end:
            raise self._error(first.at, f"rows of {table} that never end", hint=_CUT_OFF)
        begun, self._at = self._at, end + len(_END)
        if table not in self._tables:
            return
        columns = [part[0].value for part in _parted(rest)[0]] if rest[0].text == "(" else self._columns.get(table, [])
        line = self._line(begun)
        for number, written in enumerate(self._text[begun : end - 1].split("\n") if end > begun else ()):
            cells = [None if cell == "\\N" else _unescaped(cell) for cell in written.split("\t")]
            self._add(table, columns, cells, line=line + number)

    def _insert(self, tokens: list[_Token]) -> None:
        table, rest = _named(tokens[2:])
        if table not in self._tables:
            return
        columns = self._columns.get(table, [])
        if rest and rest[0].text == "(":
            named, rest = _parted(rest)
            columns = [part[0].value for part in named]
        if not columns:
            raise self._error(
                tokens[0].at,
                f"rows of {table} without the names of its columns",
                hint="pg_dump --column-inserts names them",
            )
        start = next((number for number, token in enumerate(rest) if token.upper == "VALUES"), len(rest))
        rest = rest[start + 1 :]
        if not rest or rest[0].text != "(":
            raise self._error(
                tokens[0].at, f"INSERT INTO {table} without VALUES", hint="only what pg_dump writes is read"
            )
        while rest and rest[0].text == "(":
            line = self._line(rest[0].at)
            parts, rest = _parted(rest)
            self._add(table, columns, [self._literal(part, table, line=line) for part in parts], line=line)
            if rest and rest[0].text == ",":
                rest = rest[1:]

    def _literal(self, part: list[_Token], table: str, *, line: int) -> str | None:
        """Read a value; what stands behind it is its type."""
        token = part[0] if part else None
        if token is not None:
            if token.kind in ("string", "escaped", "number"):
                return token.value
            if token.upper in _WORDS:
                return _WORDS[token.upper]
        told = "".join(each.text for each in part) or "nothing"
        raise PlanError(
            f"{self._path}:{line}: {told} in a row of {table} is no value", hint="only what pg_dump writes is read"
        )

    def _add(self, table: str, columns: list[str], cells: list[str | None], *, line: int) -> None:
        if len(cells) != len(columns):
            raise PlanError(
                f"{self._path}:{line}: a row of {table} has {len(cells)} values for {len(columns)} columns",
                hint="a line was changed or lost; make the dump anew",
            )
        row = Row(f"{self._path}:{line}", table, dict(zip(columns, cells, strict=True)))
        self._found.setdefault(table, []).append(row)

    def _line(self, at: int) -> int:
        """Count from where was counted last: rows ask one after the other, and a dump may have many."""
        before, line = self._counted if at >= self._counted[0] else (0, 1)
        self._counted = (at, line + self._text.count("\n", before, at))
        return self._counted[1]

    def _error(self, at: int, message: str, *, hint: str) -> PlanError:
        return PlanError(f"{self._path}:{self._line(at)}: {message}", hint=hint)


def _named(tokens: list[_Token]) -> tuple[str, list[_Token]]:
    """Take a table's name, without its schema, from the front."""
    number = 0
    skipped = ("IF", "NOT", "EXISTS", "ONLY")
    while number < len(tokens) and tokens[number].upper in skipped and tokens[number].kind == "word":
        number += 1
    while number + 2 < len(tokens) and tokens[number + 1].text == ".":
        number += 2
    return (tokens[number].value, tokens[number + 1 :]) if number < len(tokens) else ("", [])


def _parted(tokens: list[_Token]) -> tuple[list[list[_Token]], list[_Token]]:
    """Split what is between the first parenthesis and its partner at the commas; also return what follows."""
    parts: list[list[_Token]] = [[]]
    depth = 0
    for number, token in enumerate(tokens):
        opens, closes = token.text in ("(", "["), token.text in (")", "]")
        depth += opens - closes
        if depth == 0:
            return parts if parts != [[]] else [], tokens[number + 1 :]
        if depth == 1 and token.text == ",":
            parts.append([])
        elif not (depth == 1 and opens):
            parts[-1].append(token)
    return parts, []


def _unescaped(text: str) -> str:
    """Undo what COPY and E'' strings write for characters that would be in the way."""
    return _ESCAPE.sub(_character, text) if "\\" in text else text


def _character(match: re.Match[str]) -> str:
    if match[1]:
        return chr(int(match[1], 16))
    if match[2]:
        return chr(int(match[2], 8))
    return _LETTERS.get(match[3], match[3])
