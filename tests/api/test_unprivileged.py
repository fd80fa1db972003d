"""The Python interface once more, as a user without rights."""

import pytest
from tests.support.unprivileged import needs_root, run_as_nobody


@needs_root
@pytest.mark.slow
@pytest.mark.timeout(400)
def test_the_interface_works_without_rights(*, torture: bool) -> None:
    everything = ["tests/api/test_start.py", "tests/api/test_functions.py", "tests/api/test_notebook.py"]
    run_as_nobody(everything if torture else ["tests/api/test_functions.py"], timeout_s=360)
