"""Templates of prompts: text with {{name}}, and parts between {{#name}} and {{/name}} that vanish where it is empty.

What is filled in is not looked at again, so nothing in a task's text can be taken for a placeholder.
Knows the notation; must not know what the names stand for.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from budwood._core.suggest import did_you_mean
from budwood.errors import SettingsError

_BRACES = re.compile(r"\{\{(?P<inner>.*?)\}\}", re.DOTALL)
_INNER = re.compile(r"\s*(?P<sign>[#/]?)\s*(?P<name>[A-Za-z_]\w*)\s*")
_PARTS_LINE = re.compile(r"^[ \t]*(\{\{\s*[#/]\s*\w+\s*\}\})[ \t]*\n", re.MULTILINE)
"""A mark of a part that stands alone in its line; the line goes with it."""


class _Piece(NamedTuple):
    text: str
    """What stands in front of the mark, or behind the last one."""
    sign: str
    name: str


def check_template(text: str, names: Collection[str], *, where: str, needs: str) -> None:
    """Refuse a template with unknown names, parts that do not close, or without the one name that it needs."""
    open_part, used = "", set()
    for match in _BRACES.finditer(text):
        line = f"{where}:{text.count(chr(10), 0, match.start()) + 1}"
        inner = _INNER.fullmatch(match["inner"])
        if inner is None:
            raise SettingsError(
                f"{line}: {match[0]!r} is no placeholder", hint="write {{name}}, {{#name}} or {{/name}}"
            )
        sign, name = inner["sign"], inner["name"]
        if name not in names:
            hint = did_you_mean(name, names) or f"names are {', '.join(names)}"
            raise SettingsError(f"{line}: unknown name {name!r}", hint=hint)
        if sign == "#" and open_part:
            raise SettingsError(
                f"{line}: {{{{#{name}}}}} stands inside {{{{#{open_part}}}}}",
                hint=f"close that first: {{{{/{open_part}}}}}",
            )
        if sign == "/" and name != open_part:
            raise SettingsError(
                f"{line}: {{{{/{name}}}}} closes a part that is not open", hint=f"open it: {{{{#{name}}}}}"
            )
        open_part = {"#": name, "/": ""}.get(sign, open_part)
        used |= {name} if not sign else set()
    if open_part:
        raise SettingsError(f"{where}: {{{{#{open_part}}}}} is never closed", hint=f"close it: {{{{/{open_part}}}}}")
    if needs not in used:
        raise SettingsError(f"{where} has no {{{{{needs}}}}}", hint=f"put {{{{{needs}}}}} where it belongs")


def fill(text: str, values: Mapping[str, str]) -> str:
    """Fill in a template that was checked."""
    made: list[str] = []
    is_shown = True
    for piece in _pieces(_PARTS_LINE.sub(r"\1", text)):
        if is_shown:
            made.append(piece.text)
        if piece.sign:
            is_shown = piece.sign == "/" or bool(values[piece.name])
        elif piece.name and is_shown:
            made.append(values[piece.name])
    return "".join(made)


def _pieces(text: str) -> Iterator[_Piece]:
    at = 0
    for match in _BRACES.finditer(text):
        inner = _INNER.fullmatch(match["inner"])
        assert inner is not None
        yield _Piece(text[at : match.start()], inner["sign"], inner["name"])
        at = match.end()
    yield _Piece(text[at:], "", "")
