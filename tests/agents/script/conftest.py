"""What tests of the script share: a workspace with a file of steps."""

from pathlib import Path

import pytest
from tests.agents.script.following import Scene


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)
