"""A repository of its own for each test, and nothing left behind."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.workshop.site import Site


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """Give a repository and the program; afterwards the user has what the user had, and no process is there."""
    with Site(tmp_path / "a project ü") as made:
        yield made
