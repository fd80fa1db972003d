"""Functions to be called, those of each test's own module, and somebody who calls them."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.executors.calling import Desk, Shop, at_desk


@pytest.fixture
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> Shop:
    """A directory with the module's FUNCTIONS."""
    made = Shop(tmp_path)
    made.write(request.module.FUNCTIONS)
    return made


@pytest.fixture
def desk(shop: Shop) -> Iterator[Desk]:
    """An executor that calls them."""
    with at_desk(shop) as made:
        yield made
