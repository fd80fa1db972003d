"""The suite of workspaces once more, as a user whom rights apply to."""

import pytest
from tests.support.unprivileged import needs_root, run_as_nobody

OF_RIGHTS = ("test_changes.py", "test_kinds.py", "test_leases.py", "test_pool.py")
"""What is handed out, kept and taken back; patterns, ports and what git computes are the same for everybody."""


@needs_root
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_workspaces_pass_as_an_unprivileged_user(*, torture: bool) -> None:
    everything = ["tests/workspaces", "--ignore=tests/workspaces/test_unprivileged.py"]
    # Of the kinds one is enough: rights do not tell them apart.
    sample = [*(f"tests/workspaces/{name}" for name in OF_RIGHTS), "-k", "not Worktree and not Copy and not Converts"]
    run_as_nobody(everything if torture else sample, timeout_s=860)
