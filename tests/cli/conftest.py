"""The fixture of the command line's tests: a project of its own for each, and nothing left behind."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.world import Budwood
from tests.support.looks import night, now, over, terminal, there

__all__ = ["budwood", "night", "now", "over", "terminal", "there"]


@pytest.fixture
def budwood(tmp_path: Path) -> Iterator[Budwood]:
    """Give the program and a project; afterwards no process of its runs may be there."""
    with Budwood(tmp_path / "project") as world:
        yield world
