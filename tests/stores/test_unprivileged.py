"""The suites of stores once more, as a user whom rights apply to."""

import pytest
from tests.support.unprivileged import needs_root, run_as_nobody


@needs_root
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_all_of_it_passes_as_an_unprivileged_user() -> None:
    run_as_nobody(["tests/stores"])
