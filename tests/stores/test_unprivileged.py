"""The suites of stores once more, as a user whom rights apply to."""

import pytest
from tests.support.unprivileged import needs_root, run_as_nobody

OF_FILES = ("test_sqlite.py", "test_sqlite_faults.py", "test_sqlite_locks.py", "test_wal.py", "test_mounts.py")
"""What a server does, and what a run is when it arrives elsewhere, is the same for everybody."""


@needs_root
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_stores_in_files_pass_as_an_unprivileged_user(*, torture: bool) -> None:
    everything = ["tests/stores", "--ignore=tests/stores/test_unprivileged.py"]
    run_as_nobody(everything if torture else [f"tests/stores/{name}" for name in OF_FILES], timeout_s=860)
