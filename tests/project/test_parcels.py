"""Events are cut into parcels: all of them, in order, none too large."""

import msgspec

from budwood._core.events import DriverSeen, External, Recorded, as_json
from budwood.project.parcels import MOST_BYTES, MOST_EVENTS, Parcel, parcels


def numbers(parcel: Parcel) -> list[int]:
    return [msgspec.json.decode(event)["number"] for event in parcel.events]


def test_no_parcel_has_too_many_events() -> None:
    cut = list(parcels(Recorded(number, 0, DriverSeen()) for number in range(1, 2 * MOST_EVENTS + 2)))
    assert [len(parcel.events) for parcel in cut] == [MOST_EVENTS, MOST_EVENTS, 1]
    assert [number for parcel in cut for number in numbers(parcel)] == list(range(1, 2 * MOST_EVENTS + 2))
    assert [parcel.last for parcel in cut] == [MOST_EVENTS, 2 * MOST_EVENTS, 2 * MOST_EVENTS + 1]


def test_no_parcel_has_too_many_bytes_unless_one_event_alone_has() -> None:
    sizes = [1000, MOST_BYTES * 2, 1000, MOST_BYTES // 2, MOST_BYTES // 2 + 1, 1000]
    events = [Recorded(n, 0, External(cause="x", detail="y" * size)) for n, size in enumerate(sizes, start=1)]
    cut = list(parcels(events))
    assert [numbers(parcel) for parcel in cut] == [[1], [2], [3, 4], [5, 6]]


def test_nothing_makes_no_parcel() -> None:
    assert list(parcels([])) == []


def test_a_body_is_one_json_object() -> None:
    event = Recorded(7, 5, DriverSeen())
    [parcel] = parcels([event])
    assert msgspec.json.decode(parcel.body(run="1x", name='a "b"', state="active")) == {
        "run": "1x",
        "name": 'a "b"',
        "state": "active",
        "events": [as_json(event)],
    }
