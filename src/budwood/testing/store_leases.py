"""Rules about runs and who drives them: claims, leases, fencing, moving away.

Knows the contract of stores; must not know any backend.
"""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from budwood.errors import LeaseHeld, LeaseLost, NoSuchId, StoreConflict, StoreError, UsageError
from budwood.stores.base import Claim, Lease, Store
from budwood.testing import samples
from budwood.testing.store_world import RUN, SOURCE, StoreRules, World, contents

RACERS = 8


class ClaimRules(StoreRules):
    """One source has one run, until a fresh one is wanted."""

    def test_a_claimed_run_is_listed_with_no_events(self, store: Store) -> None:
        assert store.runs() == []
        assert store.claim(RUN, name="night", source=SOURCE, fresh=False) == Claim(RUN, "night", created=True)
        [row] = store.runs()
        assert (row.id, row.name, row.source, row.last_event) == (RUN, "night", SOURCE, 0)
        assert list(store.read(RUN)) == []

    def test_the_same_source_gets_the_same_run(self, store: Store, other: Store) -> None:
        store.claim(RUN, name="night", source=SOURCE, fresh=False)
        assert other.claim("bbbbbbbbbb", name="night", source=SOURCE, fresh=False) == Claim(RUN, "night", created=False)
        assert other.claim("cccccccccc", name="day", source="/other.toml", fresh=False).created

    def test_a_fresh_claim_makes_a_run_with_the_next_name_and_is_the_newest_from_then_on(self, store: Store) -> None:
        store.claim(RUN, name="night", source=SOURCE, fresh=False)
        second = store.claim("bbbbbbbbbb", name="night", source=SOURCE, fresh=True)
        assert second == Claim("bbbbbbbbbb", "night-2", created=True)
        assert store.claim("cccccccccc", name="night", source=SOURCE, fresh=False).run == "bbbbbbbbbb"
        assert store.claim("dddddddddd", name="night", source="", fresh=False) == Claim("dddddddddd", "night-3", True)
        assert [row.name for row in store.runs()] == ["night", "night-2", "night-3"]

    def test_an_empty_source_always_creates(self, store: Store) -> None:
        assert store.claim(RUN, name="a", source="", fresh=False).created
        assert store.claim("bbbbbbbbbb", name="b", source="", fresh=False).created

    def test_an_id_is_for_ever(self, store: Store) -> None:
        store.claim(RUN, name="night", source=SOURCE, fresh=False)
        with pytest.raises(StoreConflict):
            store.claim(RUN, name="day", source="/other.toml", fresh=True)
        assert [row.name for row in store.runs()] == ["night"]

    @pytest.mark.parametrize("run", ["", "../../etc/x", "a b", "ü", "a" * 65, "a\0"])
    def test_an_id_that_is_no_file_name_is_refused(self, store: Store, run: str) -> None:
        with pytest.raises(UsageError):
            store.claim(run, name="night", source=SOURCE, fresh=False)
        assert store.runs() == []

    def test_of_many_that_claim_at_once_one_creates_and_all_get_its_run(self, world: World) -> None:
        gate = Barrier(RACERS)

        def claim(number: int) -> Claim:
            with world.open() as store:
                gate.wait(timeout=30)
                return store.claim(f"run-{number}", name="night", source=SOURCE, fresh=False)

        with ThreadPoolExecutor(RACERS) as pool:
            claims = list(pool.map(claim, range(RACERS)))
        assert sum(claim.created for claim in claims) == 1
        assert len({(claim.run, claim.name) for claim in claims}) == 1

    def test_what_is_not_there_is_named(self, store: Store) -> None:
        for action in (store.tasks, store.attempts, store.dependencies, store.read, store.holder, store.pending):
            with pytest.raises(NoSuchId, match="zzzz"):
                action("zzzz")
        with pytest.raises(NoSuchId):
            store.acquire("zzzz", "me")
        with pytest.raises(NoSuchId):
            store.ask("zzzz", "pause", key="1")


class LeaseRules(StoreRules):
    """One driver at a time, and none that was overtaken."""

    def test_a_second_driver_is_refused_with_the_holders_name(self, store: Store, other: Store, lease: Lease) -> None:
        for refused in (store, other):
            with pytest.raises(LeaseHeld, match="the first driver"):
                refused.acquire(RUN, "the second driver")
        assert store.holder(RUN) == other.holder(RUN) == "the first driver"
        store.append(lease, samples.note(RUN))

    def test_a_released_lease_can_be_taken_and_is_dead_for_its_old_holder(
        self, store: Store, other: Store, lease: Lease
    ) -> None:
        store.release(lease)
        store.release(lease)
        assert other.holder(RUN) is None
        with pytest.raises(LeaseLost):
            store.append(lease, samples.note(RUN))
        with pytest.raises(LeaseLost):
            store.renew(lease)
        second = other.acquire(RUN, "the second driver")
        assert second.fence > lease.fence
        assert store.holder(RUN) == "the second driver"
        other.append(second, samples.note(RUN))

    def test_one_who_was_overtaken_writes_nothing_and_disturbs_nobody(
        self, world: World, store: Store, other: Store, lease: Lease
    ) -> None:
        store.append(lease, samples.note(RUN))
        world.kill_holder(lease)
        second = other.acquire(RUN, "the second driver")
        assert second.fence > lease.fence
        other.append(second, samples.note(RUN, 1))
        before = contents(other, RUN)
        with pytest.raises(LeaseLost):
            store.append(lease, samples.note(RUN, 2))
        with pytest.raises(LeaseLost):
            store.renew(lease)
        with pytest.raises(LeaseLost):
            store.retire(lease, "elsewhere")
        store.release(lease)
        assert contents(other, RUN) == before
        assert other.holder(RUN) == "the second driver"
        other.append(second, samples.note(RUN, 2))

    def test_a_dead_holder_holds_nothing(self, world: World, store: Store, other: Store, lease: Lease) -> None:
        assert other.holder(RUN) == "the first driver"
        world.kill_holder(lease)
        assert other.holder(RUN) is None

    def test_a_closed_store_holds_nothing(self, world: World, other: Store) -> None:
        with world.open() as store:
            store.claim(RUN, name="night", source=SOURCE, fresh=False)
            first = store.acquire(RUN, "the first driver")
        assert other.acquire(RUN, "the second driver").fence > first.fence

    def test_a_renewed_lease_goes_on(self, store: Store, lease: Lease) -> None:
        assert store.renew_every_s is None or store.renew_every_s > 0
        store.renew(lease)
        store.append(lease, samples.note(RUN))

    def test_leases_of_two_runs_do_not_meet(self, store: Store, other: Store, lease: Lease) -> None:
        other.claim("bbbbbbbbbb", name="day", source="/other.toml", fresh=False)
        second = other.acquire("bbbbbbbbbb", "the second driver")
        store.append(lease, samples.note(RUN))
        other.append(second, samples.note("bbbbbbbbbb"))

    def test_a_lease_can_be_asked_to_be_above_a_number(self, store: Store, lease: Lease) -> None:
        store.release(lease)
        second = store.acquire(RUN, "a driver", above=1000)
        assert second.fence > 1000
        store.release(second)
        assert store.acquire(RUN, "a driver", above=3).fence > second.fence

    def test_of_many_that_acquire_at_once_one_wins(self, world: World, store: Store) -> None:
        store.claim(RUN, name="night", source=SOURCE, fresh=False)
        gate = Barrier(RACERS)

        def acquire(number: int) -> int:
            with world.open() as racer:
                gate.wait(timeout=30)
                try:
                    fence = racer.acquire(RUN, f"driver {number}").fence
                except LeaseHeld:
                    fence = 0
                gate.wait(timeout=30)
                return fence

        for _ in range(5):
            with ThreadPoolExecutor(RACERS) as pool:
                fences = list(pool.map(acquire, range(RACERS)))
            assert len([fence for fence in fences if fence]) == 1


class MovingRules(StoreRules):
    """A run lives in one store."""

    def test_a_retired_run_can_be_read_and_not_driven(self, store: Store, other: Store, lease: Lease) -> None:
        store.append(lease, samples.tasks_added(RUN, ["a"]))
        store.retire(lease, "/elsewhere/store.db")
        for each in (store, other):
            with pytest.raises(StoreError, match=r"/elsewhere/store\.db"):
                each.acquire(RUN, "anybody")
            assert [row.id for row in each.tasks(RUN)] == ["a"]
            assert len(list(each.read(RUN))) == 1
            assert each.holder(RUN) is None
            assert each.moved_to(RUN) == "/elsewhere/store.db"
        with pytest.raises(LeaseLost):
            store.append(lease, samples.note(RUN, 1))
        store.release(lease)

    def test_a_run_that_comes_back_is_written_first_and_driven_when_readmitted(
        self, store: Store, other: Store, lease: Lease
    ) -> None:
        store.retire(lease, "/elsewhere/store.db")
        back = other.acquire(RUN, "import", above=7, back=True)
        assert back.fence > 7
        other.append(back, samples.note(RUN))
        other.release(back)
        with pytest.raises(StoreError, match=r"/elsewhere/store\.db"):
            store.acquire(RUN, "anybody")
        with pytest.raises(LeaseLost):
            other.readmit(back)
        back = other.acquire(RUN, "import", back=True)
        other.readmit(back)
        other.release(back)
        assert store.moved_to(RUN) is None
        store.append(store.acquire(RUN, "a driver"), samples.note(RUN, 1))
