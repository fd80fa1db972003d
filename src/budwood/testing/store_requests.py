"""Rules about requests: anybody asks, the driver is woken and answers in a commit.

Knows the contract of stores; must not know any backend.
"""

import selectors
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from threading import Barrier

import pytest

from budwood.errors import NoSuchId, StoreConflict
from budwood.stores.base import Answer, Bell, Lease, Request, Store
from budwood.testing import samples
from budwood.testing.store_world import RUN, StoreRules, World

WAKES_WITHIN_S = 10.0


class RequestRules(StoreRules):
    """One key, one request; answered once."""

    def test_requests_need_no_lease_and_keep_their_order(self, store: Store, other: Store, lease: Lease) -> None:
        asked = [other.ask(RUN, kind, body=f"{kind} ü\0", key=f"{kind}-1") for kind in ("pause", "cancel", "retry")]
        assert [request.id for request in asked] == [1, 2, 3]
        assert asked[0] == Request(id=1, run=RUN, kind="pause", key="pause-1", body="pause ü\0")
        assert store.pending(RUN) == store.requests(RUN) == asked
        assert store.request(RUN, 2) == asked[1]

    def test_one_key_makes_one_request(self, store: Store, other: Store, lease: Lease) -> None:
        first = store.ask(RUN, "pause", key="k")
        assert other.ask(RUN, "pause", key="k") == first
        assert other.ask(RUN, "cancel", body="other", key="k") == first
        assert store.ask(RUN, "pause", key="another").id == 2
        assert len(store.requests(RUN)) == 2

    def test_a_key_belongs_to_its_run(self, store: Store, lease: Lease) -> None:
        store.claim("bbbbbbbbbb", name="day", source="/other.toml", fresh=False)
        assert store.ask(RUN, "pause", key="k").run == RUN
        assert store.ask("bbbbbbbbbb", "pause", key="k").run == "bbbbbbbbbb"
        assert len(store.pending(RUN)) == 1

    def test_an_answer_is_written_with_its_commit(self, store: Store, other: Store, lease: Lease) -> None:
        for kind in ("pause", "cancel", "retry"):
            other.ask(RUN, kind, key=kind)
        answers = (Answer(request=1, state="taken"), Answer(request=3, state="refused", text="no such task"))
        store.append(lease, samples.note(RUN, answers=answers))
        assert [(r.id, r.state, r.answer) for r in other.requests(RUN)] == [
            (1, "taken", ""),
            (2, "pending", ""),
            (3, "refused", "no such task"),
        ]
        assert [request.id for request in other.pending(RUN)] == [2]
        assert other.ask(RUN, "pause", key="pause").state == "taken"

    def test_an_answer_of_a_refused_commit_is_not_written(self, store: Store, other: Store, lease: Lease) -> None:
        other.ask(RUN, "pause", key="1")
        with pytest.raises(StoreConflict):
            store.append(lease, samples.note(RUN, 5, answers=(Answer(request=1, state="taken"),)))
        assert [request.id for request in other.pending(RUN)] == [1]

    def test_an_unknown_request_is_named(self, store: Store, lease: Lease) -> None:
        with pytest.raises(NoSuchId, match="17"):
            store.request(RUN, 17)

    def test_many_ask_at_once_and_all_are_heard(self, world: World, store: Store, lease: Lease) -> None:
        gate = Barrier(8)

        def ask(number: int) -> list[int]:
            with world.open() as asker:
                gate.wait(timeout=30)
                mine = [asker.ask(RUN, "retry", key=f"{number}-{n}").id for n in range(5)]
                return [*mine, asker.ask(RUN, "pause", key="shared").id]

        with ThreadPoolExecutor(8) as pool:
            ids = [request for mine in pool.map(ask, range(8)) for request in mine]
        assert set(ids) == set(range(1, 42))
        assert [request.id for request in store.pending(RUN)] == list(range(1, 42))


class BellRules(StoreRules):
    """A driver sleeps in a selector until somebody asks."""

    def test_asking_wakes_the_driver(self, store: Store, other: Store, lease: Lease) -> None:
        with closing(store.listen(RUN)) as bell:
            assert not woken(bell, within_s=0)
            other.ask(RUN, "pause", key="1")
            assert woken(bell, within_s=WAKES_WITHIN_S)
            bell.drain()
            assert not woken(bell, within_s=0)
            other.ring(RUN)
            assert woken(bell, within_s=WAKES_WITHIN_S)

    def test_any_number_of_rings_is_drained_as_one(self, store: Store, other: Store, lease: Lease) -> None:
        with closing(store.listen(RUN)) as bell:
            bell.drain()
            for _ in range(20):
                other.ring(RUN)
            assert woken(bell, within_s=WAKES_WITHIN_S)
            bell.drain()
            assert not woken(bell, within_s=0)

    def test_nobody_need_listen(self, store: Store, other: Store, lease: Lease) -> None:
        other.ring(RUN)
        store.listen(RUN).close()
        other.ring(RUN)
        assert other.ask(RUN, "pause", key="1").id == 1

    def test_one_can_listen_again(self, store: Store, other: Store, lease: Lease) -> None:
        store.listen(RUN).close()
        with closing(store.listen(RUN)) as bell:
            other.ring(RUN)
            assert woken(bell, within_s=WAKES_WITHIN_S)

    def test_bells_of_two_runs_do_not_meet(self, store: Store, other: Store, lease: Lease) -> None:
        store.claim("bbbbbbbbbb", name="day", source="/other.toml", fresh=False)
        with closing(store.listen(RUN)) as mine, closing(store.listen("bbbbbbbbbb")) as theirs:
            other.ring("bbbbbbbbbb")
            assert woken(theirs, within_s=WAKES_WITHIN_S)
            assert not woken(mine, within_s=0)


class FollowRules(StoreRules):
    """Anybody can wait for what a driver writes."""

    def test_what_is_there_is_not_waited_for(self, store: Store, other: Store, lease: Lease) -> None:
        store.append(lease, samples.note(RUN))
        assert other.wait(RUN, after=0, timeout_s=0)
        assert not other.wait(RUN, after=1, timeout_s=0)
        assert not other.wait(RUN, after=1, timeout_s=0.05)

    def test_a_commit_wakes_all_who_wait(self, world: World, store: Store, lease: Lease) -> None:
        gate = Barrier(4)

        def follow(_: int) -> bool:
            with world.open() as follower:
                assert not follower.wait(RUN, after=0, timeout_s=0)
                gate.wait(timeout=30)
                return follower.wait(RUN, after=0, timeout_s=WAKES_WITHIN_S)

        with ThreadPoolExecutor(3) as pool:
            found = [pool.submit(follow, number) for number in range(3)]
            gate.wait(timeout=30)
            store.append(lease, samples.note(RUN))
            assert [each.result(timeout=30) for each in found] == [True] * 3

    def test_one_who_follows_does_not_take_the_drivers_rings(self, store: Store, other: Store, lease: Lease) -> None:
        with closing(store.listen(RUN)) as bell:
            assert not other.wait(RUN, after=0, timeout_s=0)
            other.ask(RUN, "pause", key="1")
            assert not other.wait(RUN, after=0, timeout_s=0.05)
            assert woken(bell, within_s=WAKES_WITHIN_S)

    def test_a_run_that_is_not_there_is_not_waited_for(self, store: Store) -> None:
        with pytest.raises(NoSuchId, match="zzzz"):
            store.wait("zzzz", after=0, timeout_s=1)


def woken(bell: Bell, *, within_s: float) -> bool:
    """Wait in a selector as a driver does."""
    with selectors.DefaultSelector() as selector:
        selector.register(bell.fileno(), selectors.EVENT_READ)
        return bool(selector.select(within_s))
