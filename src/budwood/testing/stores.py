"""The proof that a store keeps its promises.

    class TestMyStore(StoreConformance):
        @pytest.fixture
        def world(self, tmp_path): return MyWorld(tmp_path)

Knows the contract of stores; must not know any backend.
"""

from budwood.stores.base import Store
from budwood.testing import samples
from budwood.testing.store_commits import CommitRules, LogRules, RowRules
from budwood.testing.store_leases import ClaimRules, LeaseRules, MovingRules
from budwood.testing.store_requests import BellRules, FollowRules, RequestRules
from budwood.testing.store_world import RUN, World

__all__ = ["StoreConformance", "World"]


class StoreConformance(
    ClaimRules, LeaseRules, MovingRules, CommitRules, RowRules, LogRules, RequestRules, BellRules, FollowRules
):
    """Every rule of `budwood.stores.base`; inherit, and supply the fixture `world`."""

    def test_a_sound_store_has_nothing_to_report(self, store: Store) -> None:
        store.claim(RUN, name="night", source="/plan.toml", fresh=False)
        lease = store.acquire(RUN, "me")
        store.append(lease, samples.tasks_added(RUN, ["a"]))
        assert store.check() == []

    def test_a_store_can_be_opened_once_more_also_when_it_is_closed(self, world: World, store: Store) -> None:
        with world.open() as closed:
            closed.claim(RUN, name="night", source="/plan.toml", fresh=False)
        lease = store.acquire(RUN, "me")
        with closed.reopen() as late, store.reopen() as beside:
            store.append(lease, samples.tasks_added(RUN, ["a"]))
            assert list(late.read(RUN)) == list(beside.read(RUN)) == list(store.read(RUN)) != []
        store.renew(lease)

    def test_a_store_says_where_it_is(self, store: Store) -> None:
        assert store.where
