"""Agents in workspaces once more, as a user whom rights apply to."""

import os
from pathlib import Path

import pytest
from tests.support.unprivileged import needs_root, run_as_nobody


@needs_root
@pytest.mark.slow
@pytest.mark.timeout(400)
def test_agents_in_workspaces_pass_as_an_unprivileged_user() -> None:
    paths = ["tests/workshop/test_misbehaviour.py", "tests/workshop/test_lanes.py"]
    run_as_nobody(paths, timeout_s=360)


@needs_root
@pytest.mark.slow
@pytest.mark.timeout(700)
def test_a_sandbox_keeps_in_as_an_unprivileged_user(bwrap: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{bwrap}:{os.environ['PATH']}")
    run_as_nobody(["tests/workshop/test_sandbox.py", "tests/workshop/test_sandbox_network.py"], timeout_s=660)
