"""Keys that one JSON object has twice: JSON's readers take the last, and the other wish would be lost without a word.

Knows JSON text. The fast decoder does not tell, so this reads the text again; above a size that would be felt.
"""

from budwood.errors import PlanError

MOST_BYTES = 5_000_000


class _Twin(Exception):
    """A key is there twice."""


def refuse_twins(raw: bytes, *, path: str) -> None:
    """Refuse a key that stands twice in one object, in text of at most MOST_BYTES that is known to be JSON."""
    if len(raw) > MOST_BYTES:
        return
    import json  # most plans are TOML, which refuses this itself

    try:
        # Numbers stay text: their values do not matter here, and huge ones would be refused for another reason.
        json.loads(raw.decode(), object_pairs_hook=_table, parse_int=str, parse_float=str)
    except _Twin as twin:
        raise PlanError(f"{path}: {twin}", hint="keep one of the two; nothing was started") from None


def _table(pairs: list[tuple[str, object]]) -> dict[str, object]:
    table = dict(pairs)
    if len(table) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        values = " and ".join(repr(value) for name, value in pairs if name == twice)
        raise _Twin(f"the key {twice!r} is there twice in one object: {values}"[:300])
    return table
