"""Names that git refuses to store, written so that it does, and back again.

A directory `.git` inside a workspace holds what somebody did, and git will have nothing of that name in a tree. It is
kept as `.git%`; what is called `.git%` itself, as `.git%%`. Knows names only.
"""

import re
from collections.abc import Callable

_REFUSED = re.compile(rb"(?i)^\.git%*$")
_ESCAPED = re.compile(rb"(?i)^\.git%+$")


def escape(path: bytes) -> bytes:
    """Write a path as git can keep it."""
    return _each(path, lambda part: part + b"%" if _REFUSED.match(part) else part)


def unescape(path: bytes) -> bytes:
    """Write a kept path as it was."""
    return _each(path, lambda part: part[:-1] if _ESCAPED.match(part) else part)


def is_refused(part: str) -> bool:
    """Say whether a name must be written otherwise."""
    return _REFUSED.match(part.encode(errors="surrogateescape")) is not None


def _each(path: bytes, change: Callable[[bytes], bytes]) -> bytes:
    return b"/".join(change(part) for part in path.split(b"/"))
