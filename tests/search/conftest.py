"""Repositories that searches are let loose on, and nothing left behind."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.search.grove import Grove


@pytest.fixture
def grove(tmp_path: Path) -> Iterator[Grove]:
    """Make one; what it started has ended afterwards."""
    made = Grove(tmp_path / "project")
    yield made
    made.end()
