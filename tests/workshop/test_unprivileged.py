"""Agents in workspaces once more, as a user whom rights apply to."""

import os
from pathlib import Path

import pytest
from tests.support.unprivileged import needs_root, run_as_nobody

OF_RIGHTS = (
    "nothing_of_the_users",
    "home_directory",
    "no_other_process",
    "no_rights",
    "else_is_named",
    "time_limit",
    "killed_supervisor",
    "without_a_network",
    "neither_the_token",
    "lays_or_sets",
    "with_the_step",
)
"""Namespaces, mounts and limits; what is kept and told of an attempt is the same for everybody."""


@needs_root
@pytest.mark.slow
@pytest.mark.timeout(400)
def test_agents_in_workspaces_pass_as_an_unprivileged_user(*, torture: bool) -> None:
    lines = ["tests/workshop/test_lanes.py"] if torture else []  # of history: the same for everybody
    run_as_nobody(["tests/workshop/test_misbehaviour.py", *lines], timeout_s=360)


@needs_root
@pytest.mark.slow
@pytest.mark.timeout(700)
def test_a_sandbox_keeps_in_as_an_unprivileged_user(
    bwrap: Path, monkeypatch: pytest.MonkeyPatch, *, torture: bool
) -> None:
    monkeypatch.setenv("PATH", f"{bwrap}:{os.environ['PATH']}")
    suite = [f"tests/workshop/test_sandbox{part}.py" for part in ("", "_network", "_mcp")]
    run_as_nobody(suite if torture else [*suite, "-k", " or ".join(f"({each})" for each in OF_RIGHTS)], timeout_s=660)
