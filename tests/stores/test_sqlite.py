"""The SQLite store against the contract, and what is its own: locks, pipes, rights, full disks, damage."""

from pathlib import Path

import pytest

from budwood.stores.base import Lease, Store
from budwood.stores.sqlite import SqliteStore
from budwood.testing.stores import StoreConformance, World


class Directory(World):
    def __init__(self, path: Path) -> None:
        self._file = path / ".budwood" / "store.db"
        self._stores: list[SqliteStore] = []

    def open(self) -> Store:
        store = SqliteStore(self._file)
        self._stores.append(store)
        return store

    def kill_holder(self, lease: Lease) -> None:
        # What the kernel does at a process's death: the descriptor is gone, and nobody has been told.
        for store in self._stores:
            if lease in store._locks:
                store._locks[lease].close()


class TestSqliteStore(StoreConformance):
    @pytest.fixture
    def world(self, tmp_path: Path) -> World:
        return Directory(tmp_path)
