"""The edits in a model's answer: search/replace blocks, whole files and deletions, read from its text.

Knows the notation. Must not know files: whether a block fits is for who applies it.
"""

import re
from typing import TypeAlias

from msgspec import Struct

_SEARCH = re.compile(r"<{5,9} ?SEARCH\s*")
_DELETE = re.compile(r"<{5,9} ?DELETE\s*")
_DIVIDER = re.compile(r"={7}\s*")
_REPLACED = re.compile(r">{5,9} ?REPLACE\s*")
_DELETED = re.compile(r">{5,9} ?DELETE\s*")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})[ \t]*([^`]*)")
_LABEL = re.compile(r"(?:file(?:name)?|path)\s*[:=]\s*", re.IGNORECASE)
_PLAIN_NAMES = ("Makefile", "Dockerfile", "LICENSE", "Justfile", "Procfile", "Rakefile", "Gemfile")


class Unusable(Exception):
    """An answer, or a block of it, that cannot be applied; nothing of the answer is."""


class Replace(Struct, frozen=True, kw_only=True):
    """Text to be found once in a file, and what takes its place; nothing to be found makes a new file.

    A line of `=======` may be the text's own, so that there may be several ways to read a block.
    """

    number: int
    path: str
    ways: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]


class Whole(Struct, frozen=True, kw_only=True):
    """All lines of a file."""

    number: int
    path: str
    lines: tuple[str, ...]


class Delete(Struct, frozen=True, kw_only=True):
    """A file that goes away."""

    number: int
    path: str


Edit: TypeAlias = Replace | Whole | Delete


def read_edits(text: str) -> tuple[Edit, ...]:
    """Find all edits, in their order; raises Unusable if one does not end or has no file name."""
    return tuple(_Reading(text).edits())


class _Reading:
    def __init__(self, text: str) -> None:
        self._lines = [line.removesuffix("\r") for line in text.split("\n")]
        self._at = 0
        self._found: list[Edit] = []
        self._path: str | None = None
        """Of the block before: several blocks may follow one name."""

    def edits(self) -> list[Edit]:
        while self._at < len(self._lines):
            line = self._lines[self._at]
            fence = _FENCE.fullmatch(line) if _may_mark(line) else None
            if fence:
                self._fenced(fence[1], info=fence[2].strip())
            elif not (_may_mark(line) and self._block(self._name_before(above=-1, loose=True))):
                self._at += 1
        return self._found

    def _fenced(self, fence: str, *, info: str) -> None:
        """Read a fenced block: blocks inside of it, or a whole file if it has a name, or nothing of ours."""
        opened, named = self._at, _name_in_info(info) or self._name_before(above=-1)
        loose = named or self._name_before(above=-1, loose=True) or self._name_in_sentence()
        close = re.compile(rf" {{0,3}}{re.escape(fence[0])}{{{len(fence)},}}\s*")
        self._at += 1
        inner, depth = 0, 0
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if not _may_mark(line):
                pass
            elif close.fullmatch(line):
                if not depth:
                    break
                depth -= 1
            elif (nested := _FENCE.fullmatch(line)) and nested[1].startswith(fence) and nested[2].strip():
                depth += 1
            elif not depth and self._block(self._name_before(above=opened, loose=True) or (None if inner else loose)):
                inner += 1
                continue
            self._at += 1
        else:
            raise Unusable(f"the fenced block that opens on line {opened + 1} of the answer is not closed")
        if named and not inner:
            lines = tuple(self._lines[opened + 1 : self._at])
            self._found.append(Whole(number=len(self._found) + 1, path=named, lines=lines))
        self._at += 1

    def _block(self, name: str | None) -> bool:
        """Read a block if one begins here, and go behind it."""
        line = self._lines[self._at]
        number = len(self._found) + 1
        if _DELETE.fullmatch(line):
            self._until(_DELETED, ">>>>>>> DELETE", number=number)
            self._found.append(Delete(number=number, path=self._named(name, number)))
            self._path = None
            return True
        if not _SEARCH.fullmatch(line):
            return False
        lines = self._until(_REPLACED, ">>>>>>> REPLACE", number=number)
        dividers = [at for at, inner in enumerate(lines) if _DIVIDER.fullmatch(inner)]
        if not dividers:
            raise Unusable(f"block {number} of the answer has no line of =======")
        ways = tuple((tuple(lines[:at]), tuple(lines[at + 1 :])) for at in dividers)
        # An empty search makes a file, and a file must not be made under a name that was only guessed.
        path = name or (self._path if dividers[0] else None)
        self._path = self._named(path, number)
        self._found.append(Replace(number=number, path=self._path, ways=ways))
        return True

    def _until(self, end: re.Pattern[str], shown: str, *, number: int) -> list[str]:
        first = self._at + 1
        for at in range(first, len(self._lines)):
            line = self._lines[at]
            if not _may_mark(line):
                continue
            if end.fullmatch(line):
                self._at = at + 1
                return self._lines[first:at]
            if _SEARCH.fullmatch(line) or _DELETE.fullmatch(line):
                break
        raise Unusable(f"block {number} of the answer, on its line {first}, does not end with {shown}")

    def _named(self, name: str | None, number: int) -> str:
        if name is None:
            raise Unusable(f"block {number} of the answer, before its line {self._at + 1}, has no file name before it")
        return name

    def _name_before(self, *, above: int, loose: bool = False) -> str | None:
        """Read the last line with text before this one, but not that of the fence which opens on line `above`.

        A loose reading takes more for a name: it is for blocks, which fit the file that is meant and no other.
        """
        at = self._at - 1
        while at > above and not self._lines[at].strip():
            at -= 1
        if at <= above:
            return None
        return _bare(self._lines[at], any_word=loose and (above >= 0 or "/" in self._lines[at]))

    def _name_in_sentence(self) -> str | None:
        """Take the one quoted name out of the sentence before this line."""
        before = next((line for line in reversed(self._lines[max(0, self._at - 3) : self._at]) if line.strip()), "")
        quoted = re.findall(r"`([^`\s]+)`", before)
        return _bare(quoted[0]) if len(quoted) == 1 else None


def _may_mark(line: str) -> bool:
    """Tell quickly whether a line may begin or end something; an answer may have a million that do not."""
    return line.lstrip(" ")[:1] in ("<", ">", "`", "~")


def _bare(line: str, *, any_word: bool = False) -> str | None:
    """Take a line for a file name, without what Markdown puts around it; None if it is none."""
    text = line.strip().removeprefix("//").lstrip("#").strip().rstrip(":").strip()
    text = text.removeprefix("**").removesuffix("**").rstrip(":").strip()
    labelled = _LABEL.match(text)
    if labelled:
        text = text[labelled.end() :].strip()
    quoted = len(text) > 2 and text[0] == text[-1] == "`"
    text = text.strip("`").strip()
    if not text or len(text) > 1000 or re.search(r"[`*<>|\"?]", text) or "://" in text:
        return None
    if re.search(r"\s", text) and not (labelled or quoted):
        return None
    last = text.rpartition("/")[2]
    is_path = re.search(r"\w\.\w|^\.\w", last) is not None or last in _PLAIN_NAMES
    return text if is_path or quoted or labelled or any_word else None


def _name_in_info(info: str) -> str | None:
    """Find a name behind the opening of a fence: ```app.py, ```python app.py, ```python:app.py, ```py path=app.py."""
    for word in info.replace("{", " ").replace("}", " ").split():
        key, equals, value = word.partition("=")
        if equals:
            if key.casefold() in ("path", "file", "filename", "title", "name"):
                return value.strip("\"'") or None
            continue
        _, colon, behind = word.partition(":")
        name = _bare(behind if colon and behind else word, any_word="/" in word)
        if name is not None:
            return name
    return None
