"""The merge queue once more, as a user whom rights apply to."""

import pytest
from tests.support.unprivileged import needs_root, run_as_nobody

TARGETS = "tests/queue/test_targets.py"
KILLED = "tests/queue/test_killed.py"
OF_FILES = (
    f"{TARGETS}::test_a_branch_that_is_checked_out_moves_with_its_files",
    f"{TARGETS}::test_files_that_were_changed_there_are_not_overwritten",
    f"{TARGETS}::test_ignored_files_are_not_overwritten",
    f"{KILLED}::test_killed_at_random_moments_it_comes_to_the_same_tree",
)
"""The user's branch and files, and what a killed driver left; what is merged is the same for everybody."""


@needs_root
@pytest.mark.slow
@pytest.mark.crash
@pytest.mark.timeout(900)
def test_merging_passes_as_an_unprivileged_user(*, torture: bool) -> None:
    run_as_nobody([TARGETS, KILLED] if torture else [*OF_FILES], timeout_s=860)
