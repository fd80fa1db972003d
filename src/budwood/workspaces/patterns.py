"""Paths with wildcards, as `.gitignore` writes them: a name alone is meant in every directory, a path from the top.

`*` and `?` do not pass a slash, `**` does; there is no `!`. Knows names only.
"""

import re
from collections.abc import Iterable

from budwood.errors import UsageError

_PARTS = re.compile(r"\*\*/|/\*\*$|\*|\?|\[!?\]?[^\]]*\]|.", re.DOTALL)
_NOTHING = re.compile(rb"(?!)")


def matcher(patterns: Iterable[str], *, key: str) -> re.Pattern[bytes]:
    """Return what matches, in full, the paths that any of the patterns means; `key` is named where one is refused."""
    found = [_translated(pattern, key) for pattern in patterns]
    return re.compile(b"|".join(found), re.DOTALL) if found else _NOTHING


def _translated(pattern: str, key: str) -> bytes:
    path = pattern.strip("/")
    parts = path.split("/")
    if not path or path.startswith("!") or ".." in parts or parts[0] == ".git":
        raise UsageError(f"{key} names {pattern!r}; it takes paths inside the project, with * ? [] and **")
    anywhere = "" if "/" in pattern.rstrip("/") else r"(?:.*/)?"
    return (anywhere + "".join(map(_piece, _PARTS.findall(path)))).encode(errors="surrogateescape")


def _piece(part: str) -> str:
    if part == "**/":
        return r"(?:.*/)?"
    if part == "/**":
        return r"/.*"
    if part == "*":
        return r"[^/]*"
    if part == "?":
        return r"[^/]"
    if part.startswith("[") and len(part) > 1:
        inside = part[1:-1].replace("\\", r"\\").replace("[", r"\[")
        return f"[{'^' + inside[1:] if inside.startswith('!') else inside}]"
    return re.escape(part)
