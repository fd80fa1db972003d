"""The suite of workspaces once more, as a user whom rights apply to."""

import pytest
from tests.support.unprivileged import needs_root, run_as_nobody


@needs_root
@pytest.mark.slow
@pytest.mark.timeout(420)
def test_workspaces_pass_as_an_unprivileged_user() -> None:
    # Of the two kinds that are checkouts one is enough: rights do not tell them apart.
    suite = ["tests/workspaces", "--ignore=tests/workspaces/test_unprivileged.py", "-k", "not Worktree"]
    run_as_nobody(suite, timeout_s=380)
