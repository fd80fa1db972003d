"""The memory store against the contract."""

import pytest

from budwood.stores import open_store
from budwood.stores.base import Lease, Store
from budwood.stores.memory import MemoryStore, MemoryWorld
from budwood.testing.stores import StoreConformance, World


class SharedMemory(World):
    def __init__(self) -> None:
        self._world = MemoryWorld()

    def open(self) -> Store:
        return MemoryStore(self._world)

    def kill_holder(self, lease: Lease) -> None:
        self._world.kill_holder(lease)


class TestMemoryStore(StoreConformance):
    @pytest.fixture
    def world(self) -> World:
        return SharedMemory()


def test_each_opened_memory_is_a_world_of_its_own() -> None:
    with open_store("memory:") as one, open_store("memory:") as two:
        one.claim("a", name="a", source="", fresh=False)
        assert two.runs() == []
