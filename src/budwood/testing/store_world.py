"""What a backend supplies to be examined: a world in which stores can be opened again and holders of leases can die.

Knows the contract of stores; must not know any backend.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator

import pytest

from budwood.stores.base import Lease, Store

RUN = "aaaaaaaaaa"
SOURCE = "/plan.toml"


class World(ABC):
    """One database, whatever it is; each store that is opened on it stands for a process of its own."""

    @abstractmethod
    def open(self) -> Store:
        """Open one more store on the same world."""

    @abstractmethod
    def kill_holder(self, lease: Lease) -> None:
        """Let the process that holds this lease die: nothing is released in good order, and the store must notice."""


class StoreRules:
    """The ground that the suites stand on: a fixture `world`, which a backend's test class overrides."""

    @pytest.fixture
    def world(self) -> World:
        raise NotImplementedError("a class that inherits from StoreConformance has a fixture `world`")

    @pytest.fixture
    def store(self, world: World) -> Iterator[Store]:
        with world.open() as store:
            yield store

    @pytest.fixture
    def other(self, world: World) -> Iterator[Store]:
        """A second process on the same world."""
        with world.open() as store:
            yield store

    @pytest.fixture
    def lease(self, store: Store) -> Lease:
        """A run, claimed and leased, without events."""
        claim = store.claim(RUN, name="night", source=SOURCE, fresh=False)
        assert claim.created
        return store.acquire(claim.run, "the first driver")


def contents(store: Store, run: str) -> object:
    """Everything that a store says about a run, to compare before with after."""
    return (
        [row for row in store.runs() if row.id == run],
        list(store.read(run)),
        store.tasks(run),
        store.attempts(run),
        store.dependencies(run),
        store.requests(run),
        [store.log(run, row.task, row.number) for row in store.attempts(run)],
    )
