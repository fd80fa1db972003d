"""What tests of the model share: a workspace of one attempt."""

from pathlib import Path

import pytest
from tests.agents.model.stub import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)
