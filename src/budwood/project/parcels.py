"""Events as bodies of requests: cut into parcels that are neither too many events nor too many bytes.

Knows the public shape of events. Must not know how anything is sent.
"""

from collections.abc import Iterable, Iterator

import msgspec
from msgspec import Struct

from budwood._core.events import Recorded, as_json

MOST_EVENTS = 1000
MOST_BYTES = 512 * 1024
"""A parcel is no larger, unless one event alone is; many web servers refuse what is over 1 MB."""
_ENCODER = msgspec.json.Encoder()


class Parcel(Struct, frozen=True):
    """Some events, each as JSON, and the number of the last."""

    events: list[bytes]
    last: int

    def body(self, *, run: str, name: str, state: str) -> bytes:
        """Write the JSON that a receiver gets."""
        head = _ENCODER.encode({"run": run, "name": name, "state": state})
        return head[:-1] + b',"events":[' + b",".join(self.events) + b"]}"


def parcels(events: Iterable[Recorded]) -> Iterator[Parcel]:
    """Cut events into parcels, in order; only one parcel at a time is in memory."""
    packed: list[bytes] = []
    size, last = 0, 0
    for recorded in events:
        event = _ENCODER.encode(as_json(recorded))
        if packed and (len(packed) == MOST_EVENTS or size + len(event) > MOST_BYTES):
            yield Parcel(packed, last)
            packed, size = [], 0
        packed.append(event)
        size, last = size + len(event), recorded.number
    if packed:
        yield Parcel(packed, last)
