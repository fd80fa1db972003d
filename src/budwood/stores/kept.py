"""Events and logs as tables keep them: events dense and readable, logs compressed where that pays.

What the SQL backends share. Knows the shape of events; must not know any database: who reads says how damage is told.
"""

import zlib
from collections.abc import Callable, Iterable, Iterator

import msgspec

from budwood._core import events
from budwood._core.events import Raw, Recorded
from budwood.errors import StoreDamaged, UnknownEvent

_WORTH_PACKING = 200

Damaged = Callable[[str], StoreDamaged]
"""Makes the error that names the store and the run; its argument says what is wrong."""


def dense(raws: Iterable[Raw], *, after: int, damaged: Damaged) -> Iterator[Recorded]:
    """Read events; the first that is missing or cannot be read is named."""
    for raw in raws:
        if raw.number != after + 1:
            raise damaged(f"event {after + 1} is missing")
        try:
            recorded = events.decode(raw)
        except UnknownEvent as error:
            if not isinstance(error.__cause__, msgspec.MsgspecError):
                raise
            raise damaged(f"event {raw.number} ({error.__cause__})") from error
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise damaged(f"event {raw.number} ({error})") from error
        yield recorded
        after = raw.number


def pack(data: bytes) -> bytes:
    """Compress where that pays; what is stored is then shorter than what was printed, and so known to be compressed."""
    if len(data) < _WORTH_PACKING:
        return data
    packed = zlib.compress(data, 1)
    return packed if len(packed) < len(data) else data


def unpack(data: bytes, *, size: int, what: str, damaged: Damaged) -> bytes:
    """Return what `pack` was given, which had this size."""
    try:
        return bytes(data) if len(data) == size else zlib.decompress(data)
    except zlib.error as error:
        raise damaged(f"{what} ({error})") from error
