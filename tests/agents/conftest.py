"""A bench for every test of agents."""

from pathlib import Path

import pytest
from tests.agents.starting import Bench


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """Give each test a place of its own."""
    return Bench(tmp_path)
