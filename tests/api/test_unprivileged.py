"""The Python interface once more, as a user without rights."""

import pytest
from tests.support.unprivileged import needs_root, run_as_nobody


@needs_root
@pytest.mark.slow
@pytest.mark.timeout(400)
def test_the_interface_works_without_rights(*, torture: bool) -> None:
    suites = ("start", "start_strategies", "open", "functions", "notebook") if torture else ("functions",)
    run_as_nobody([f"tests/api/test_{name}.py" for name in suites], timeout_s=360)
