"""A list of tasks in Markdown: sections or bullets in, the tables of a plan out.

Knows which parts of a page are tasks; what is a section, a list or a fence is the library's business. Must not know
what keys mean: front matter is handed on as it is.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from markdown_it import MarkdownIt
from markdown_it.token import Token

from budwood._core.ids import safe_name
from budwood.errors import PlanError
from budwood.plans.entries import PlanFile, TaskEntry
from budwood.settings.files import decoded, parse_toml

FENCE = "+++"
_LONGEST_ID = 48
_BOX = re.compile(r"\[([ xX])\][ \t]+")
_BULLET = re.compile(r"[ \t]*[-*+](?:[ \t]+|$)")
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class _Part:
    """Lines of the page that are one task: `first` and `last` as in a range, from 0."""

    first: int
    last: int
    title: str
    is_done: bool


@dataclass(slots=True)
class _Page:
    """A page as its parts are looked for in it."""

    path: str
    lines: list[str]
    tokens: list[Token]
    comments: set[int] = field(default_factory=set)
    """Lines that are nothing but a comment."""

    def error(self, line: int, message: str, *, hint: str) -> PlanError:
        return PlanError(f"{self.path}:{line + 1}: {message}", hint=hint)


def read_markdown(raw: bytes, *, path: str) -> tuple[PlanFile, tuple[str, ...]]:
    """Read tasks from a page; also say in words what of it is in no task. Whatever is wrong raises PlanError."""
    text = decoded(raw, path=path, error=PlanError).replace("\r\n", "\n").replace("\r", "\n")
    if not text.strip():
        raise PlanError(f"{path} is empty", hint="write one bullet, or one ## section, for each task")
    run, lines = _front_matter(text.split("\n"), path=path)
    page = _Page(path, lines, MarkdownIt("commonmark").parse("\n".join(lines)))
    _refuse_unclosed(page)
    parts = list(_sections(page)) or list(_bullets(page))
    wanted = [part for part in parts if not part.is_done]
    if not wanted:
        raise _nothing(page, parts)
    title = next(_headings(page, "h1"), None)
    goal = {} if title is None else {"goal": _title(title[1])[0]}
    entries = [_entry(part, page) for part in wanted]
    _refuse_equal(entries, wanted, page)
    return PlanFile(run={**goal, **run}, task=entries), tuple(_left_out(page, parts))


def _front_matter(lines: list[str], *, path: str) -> tuple[dict[str, object], list[str]]:
    """Take the TOML from the top; its lines stay as empty ones, so that what follows keeps its number."""
    if lines[0].strip() == "---":
        raise PlanError(f"{path}:1: front matter in YAML", hint=f"write it in TOML, between lines of {FENCE}")
    if lines[0].strip() != FENCE:
        return {}, lines
    end = next((number for number, line in enumerate(lines) if number and line.strip() == FENCE), None)
    if end is None:
        raise PlanError(f"{path}:1: front matter without an end", hint=f"close it by another line of {FENCE}")
    raw = "\n".join(("", *lines[1:end])).encode()
    return parse_toml(raw, path=path, error=PlanError), [""] * (end + 1) + lines[end + 1 :]


def _refuse_unclosed(page: _Page) -> None:
    """Refuse a comment or a fence that runs to the end: every task behind it would be lost without a word."""
    for token in page.tokens:
        first, last = token.map or (0, 0)
        if token.type == "html_block" and token.content.lstrip().startswith("<!--"):
            if "-->" not in token.content:
                raise page.error(first, "a comment that is never closed", hint="close it by -->")
            if token.content.rstrip().endswith("-->"):
                page.comments.update(range(first, last))
        elif token.type == "fence":
            ending = page.lines[last - 1].strip(" \t>")
            if last - first < 2 or not ending.startswith(token.markup) or ending.strip(token.markup[0]):
                raise page.error(first, "a code fence that is never closed", hint=f"close it by {token.markup}")


def _headings(page: _Page, *tags: str) -> Iterator[tuple[Token, str]]:
    """Give the headings that stand in nothing else, with their text."""
    for number, token in enumerate(page.tokens):
        if token.type == "heading_open" and token.level == 0 and token.tag in tags:
            yield token, page.tokens[number + 1].content


def _sections(page: _Page) -> Iterator[_Part]:
    headings = [(token, _line(token), text) for token, text in _headings(page, "h1", "h2")]
    ends = [*(line for _, line, _ in headings), len(page.lines)][1:]
    for (token, line, text), end in zip(headings, ends, strict=True):
        if token.tag == "h2":
            title, is_done = _title(text)
            if not title:
                raise page.error(line, "a section without a heading", hint="say in its heading what is to be done")
            yield _Part(line, end, title, is_done)


def _bullets(page: _Page) -> Iterator[_Part]:
    for number, token in enumerate(page.tokens):
        if token.type != "list_item_open" or token.level != 1 or token.markup not in ("-", "*", "+"):
            continue
        first, last = token.map or (0, 0)
        begins = page.tokens[number + 1 : number + 3]
        text = begins[1].content if begins[0].type in ("paragraph_open", "heading_open") else ""
        title, is_done = _title(text)
        if not title:
            raise page.error(first, "a bullet that begins with no words", hint="say first what is to be done")
        yield _Part(first, last, title, is_done)


def _line(token: Token) -> int:
    return token.map[0] if token.map else 0


def _title(text: str) -> tuple[str, bool]:
    """Return the first line of a task, and whether a box before it is ticked."""
    first = text.strip().partition("\n")[0].strip()
    box = _BOX.match(f"{first} ")
    if box is None:
        return first, False
    return first[box.end() :].strip(), box[1] in "xX"


def _entry(part: _Part, page: _Page) -> TaskEntry:
    lines = [line for n, line in enumerate(page.lines[part.first : part.last], part.first) if n not in page.comments]
    return TaskEntry(id=_id(part.title), description=part.title, prompt="\n".join(_without_bullet(lines)).strip())


def _without_bullet(lines: Sequence[str]) -> list[str]:
    """Take the bullet, its box and the margin that they make away; a section has none."""
    bullet = _BULLET.match(lines[0])
    if bullet is None:
        return list(lines)
    margin = len(bullet[0].expandtabs(4))
    rest = [line.expandtabs(4) for line in lines[1:]]
    cut = [line[min(margin, len(line) - len(line.lstrip())) :] for line in rest]
    first = lines[0][bullet.end() :]
    box = _BOX.match(first)
    return [first if box is None else first[box.end() :], *cut]


def _id(title: str) -> str:
    """Make an id of a title alone, so that tasks beside it do not change it; where words are lost, a hash tells."""
    whole = safe_name(title, fallback="task", most=len(title) * 4 + 8)
    name = whole
    if len(name) > _LONGEST_ID:
        name = name[:_LONGEST_ID].rpartition("-")[0] or name[:_LONGEST_ID]
    letters = (char for char in unicodedata.normalize("NFKD", title) if char.isalnum())
    if name == whole and all(char.isascii() for char in letters):
        return name
    return f"{name}-{hashlib.sha256(title.encode()).hexdigest()[:6]}"


def _refuse_equal(entries: Sequence[TaskEntry], parts: Sequence[_Part], page: _Page) -> None:
    """Refuse titles that make one id: numbers behind them would change when a task is added."""
    lines: dict[object, int] = {}
    for entry, part in zip(entries, parts, strict=True):
        before = lines.setdefault(entry.id, part.first)
        if before != part.first:
            raise page.error(
                part.first,
                f"this task and that of line {before + 1} would both be called {entry.id!r}",
                hint="begin one of them with other words",
            )


def _nothing(page: _Page, parts: Sequence[_Part]) -> PlanError:
    if parts:
        return PlanError(
            f"every task of {page.path} is ticked off", hint="write [ ] before those that are to be done again"
        )
    numbered = any(token.type == "ordered_list_open" and token.level == 0 for token in page.tokens)
    return PlanError(
        f"{page.path} has no tasks",
        hint="numbered items are none: write - before each"
        if numbered
        else "write one bullet, or one ## section, for each task",
    )


def _left_out(page: _Page, parts: Sequence[_Part]) -> Iterator[str]:
    done = [part.title for part in parts if part.is_done]
    if done:
        more = f" and {len(done) - _SHOWN} more" if len(done) > _SHOWN else ""
        yield f"{len(done)} ticked off and left out: {'; '.join(done[:_SHOWN])}{more}"
    taken = {line for part in parts for line in range(part.first, part.last)} | page.comments
    taken |= {
        line for t in page.tokens if t.type == "heading_open" and t.map and t.level == 0 for line in range(*t.map)
    }
    spare = [n + 1 for n, line in enumerate(page.lines) if line.strip() and n not in taken]
    if spare:
        yield f"line {spare[0]}{f' to {spare[-1]}' if spare[1:] else ''}: text that is in no task, so no agent sees it"
