"""A project with a run whose tasks speak to the server."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.mcp.talking import Talking


@pytest.fixture
def talking(tmp_path: Path) -> Iterator[Talking]:
    """Give a project; nothing of it survives."""
    with Talking(tmp_path / "project") as made:
        yield made
