"""Agents in workspaces once more, as a user whom rights apply to."""

import pytest
from tests.support.unprivileged import needs_root, run_as_nobody


@needs_root
@pytest.mark.slow
@pytest.mark.timeout(400)
def test_agents_in_workspaces_pass_as_an_unprivileged_user() -> None:
    paths = ["tests/workshop/test_misbehaviour.py", "tests/workshop/test_lanes.py"]
    run_as_nobody(paths, timeout_s=360)
