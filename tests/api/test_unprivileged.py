"""The whole suite of the Python interface once more, as a user without rights."""

import pytest
from tests.support.unprivileged import needs_root, run_as_nobody


@needs_root
@pytest.mark.slow
def test_the_interface_works_without_rights() -> None:
    run_as_nobody(
        ["tests/api/test_start.py", "tests/api/test_functions.py", "tests/api/test_notebook.py"], timeout_s=110
    )
