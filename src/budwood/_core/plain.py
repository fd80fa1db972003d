"""Whether a value is JSON: what events carry must come back from any store as it was.

Knows msgspec only.
"""

import msgspec


def is_plain(value: object) -> bool:
    """Say whether a value comes back from JSON equal; dates, bytes, NaN, sets and keys that are no text do not."""
    try:
        return bool(msgspec.json.decode(msgspec.json.encode(value)) == value)
    except (msgspec.MsgspecError, TypeError, ValueError, OverflowError, RecursionError):
        return False
