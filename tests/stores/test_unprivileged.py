"""The suites of stores once more, as a user whom rights apply to."""

import pytest
from tests.support.unprivileged import needs_root, run_as_nobody


@needs_root
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_all_of_it_passes_as_an_unprivileged_user() -> None:
    # What a server does to its connections and its disk is the same for everybody.
    of_the_server = ("test_postgres_cuts.py", "test_postgres_faults.py")
    run_as_nobody(["tests/stores", *(f"--ignore=tests/stores/{name}" for name in of_the_server)])
