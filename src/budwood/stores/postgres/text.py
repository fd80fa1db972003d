"""Text that PostgreSQL can keep: it has no character NUL.

A NUL becomes "␛0" and a "␛" becomes "␛␛", so that both come back. Knows JSON; must not know tables.
"""

import re
from collections.abc import Callable, Sequence
from typing import overload

import msgspec

MARK = "␛"
_MARK_BYTES = MARK.encode()
_ESCAPED = re.compile(f"{MARK}([0{MARK}])")


@overload
def escape(text: str) -> str: ...
@overload
def escape(text: None) -> None: ...
def escape(text: str | None) -> str | None:
    """Write text so that it can be kept."""
    if text is None or ("\0" not in text and MARK not in text):
        return text
    return text.replace(MARK, MARK * 2).replace("\0", f"{MARK}0")


@overload
def restore(text: str) -> str: ...
@overload
def restore(text: None) -> None: ...
def restore(text: str | None) -> str | None:
    """Read what `escape` wrote."""
    if text is None or MARK not in text:
        return text
    return _ESCAPED.sub(lambda found: "\0" if found[1] == "0" else MARK, text)


def as_json(rows: object) -> str | None:
    """Write rows as JSON for a function in the database, with all their text escaped; None if there are none."""
    if isinstance(rows, Sequence) and not rows:
        return None
    encoded = msgspec.json.encode(rows)
    if b"\\u0000" in encoded or _MARK_BYTES in encoded:
        encoded = msgspec.json.encode(_each(msgspec.to_builtins(rows), escape))
    return encoded.decode()


def from_json(text: str) -> str:
    """Give the JSON that `as_json` was given, as text."""
    if MARK not in text:
        return text
    return msgspec.json.encode(_each(msgspec.json.decode(text), restore)).decode()


def _each(value: object, change: Callable[[str], str]) -> object:
    match value:
        case str():
            return change(value)
        case dict():
            return {name: _each(inner, change) for name, inner in value.items()}
        case list() | tuple():
            return [_each(inner, change) for inner in value]
        case _:
            return value
