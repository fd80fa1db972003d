"""Who is waited for before a lease is taken, and how often: a clock that jumps, no server."""

from collections.abc import Iterator
from itertools import chain, repeat

import pytest

from budwood.stores.postgres import leases
from budwood.stores.postgres.leases import COMES_BACK_S, Seen, settle


class Clock:
    """Time that passes only while somebody sleeps."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def monotonic(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(leases, "time", made)
    return made


def seen(*, presence: int = 0, is_present: bool = False, was_seen: bool = True) -> Seen:
    return Seen(3, presence, "pid 1 on here", None, True, is_present, was_seen)


def told(*looks: Seen) -> Iterator[Seen]:
    """Show one thing after the other, and the last for ever."""
    return chain(looks[:-1], repeat(looks[-1]))


def test_one_whose_connection_is_gone_is_given_the_time_to_come_back(clock: Clock) -> None:
    looks = told(seen())
    assert settle(lambda: next(looks), patient=True) == (seen(), True)
    assert clock.now_s >= COMES_BACK_S


def test_one_who_was_waited_for_in_vain_is_not_waited_for_again(clock: Clock) -> None:
    looks = told(seen())
    assert settle(lambda: next(looks), patient=True, gone=seen().sign) == (seen(), True)
    assert clock.now_s == 0


def test_one_who_came_back_in_between_is_the_holder(clock: Clock) -> None:
    looks = told(seen(presence=1, is_present=True))
    assert settle(lambda: next(looks), patient=True, gone=seen().sign)[1] is False


def test_one_who_came_back_and_went_again_is_waited_for_again(clock: Clock) -> None:
    looks = told(seen(presence=1))
    assert settle(lambda: next(looks), patient=True, gone=seen().sign)[1] is True
    assert clock.now_s >= COMES_BACK_S


def test_a_server_that_never_saw_the_holder_proves_nothing(clock: Clock) -> None:
    looks = told(*[seen(was_seen=False)] * 50, Seen(3, 0, "pid 1 on here", None, False, False, False))
    assert settle(lambda: next(looks), patient=True, gone=seen().sign)[1] is True
    assert clock.now_s > COMES_BACK_S
