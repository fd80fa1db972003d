"""Whether two patterns of paths can mean the same file.

Knows `*`, `?`, `[…]` and `**`, which is any number of directories. Sound: of two patterns that share a path it never
says that they do not. A pattern means what is below it, too, because it may name a directory.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache

_DIRECTORIES = "**"
_CHARACTERS = "*"
_CHARACTER = "?"


@lru_cache(maxsize=4096)
def overlap(one: str, other: str) -> bool:
    """Say whether some path fits both patterns."""
    ours, theirs = ((*_names(pattern), _DIRECTORIES) for pattern in (one, other))
    return _meet(ours, theirs, many=_DIRECTORIES, fits=_names_meet)


def _names(pattern: str) -> list[str]:
    return [name for name in pattern.split("/") if name not in ("", ".")]


def _names_meet(one: str, other: str) -> bool:
    return _meet(_signs(one), _signs(other), many=_CHARACTERS, fits=_signs_meet)


def _signs_meet(one: str, other: str) -> bool:
    return one == other or _CHARACTER in (one, other)


def _meet(one: Sequence[str], other: Sequence[str], *, many: str, fits: Callable[[str, str], bool]) -> bool:
    """Walk through both at once, `many` standing for any number of pieces; say whether both ends can be reached."""
    states, seen = [(0, 0)], set[tuple[int, int]]()
    while states:
        i, j = state = states.pop()
        if state in seen:
            continue
        seen.add(state)
        ours, theirs = (None if at == len(pieces) else pieces[at] for at, pieces in ((i, one), (j, other)))
        if ours is None and theirs is None:
            return True
        if ours == many:
            states += [(i + 1, j)] if theirs is None else [(i + 1, j), (i, j + 1)]
        if theirs == many:
            states += [(i, j + 1)] if ours is None else [(i, j + 1), (i + 1, j)]
        if ours is not None and theirs is not None and many not in (ours, theirs) and fits(ours, theirs):
            states.append((i + 1, j + 1))
    return False


def _signs(name: str) -> list[str]:
    """Split a name into `*`, `?` and characters; a class counts as `?`, a sign that is meant keeps its backslash."""
    signs: list[str] = []
    at = 0
    while at < len(name):
        inside = at + (3 if name[at + 1 : at + 2] in ("!", "^") else 2)
        end = name.find("]", inside) if name[at] == "[" else -1
        if end > 0:
            signs.append(_CHARACTER)
            at = end + 1
        elif name[at] == "\\" and at + 1 < len(name):
            signs.append(name[at : at + 2] if name[at + 1] in "*?" else name[at + 1])
            at += 2
        else:
            signs.append(name[at])
            at += 1
    return signs
