"""The suites of processes once more, as a user whom rights apply to."""

import pytest
from tests.support.unprivileged import needs_root, run_as_nobody


@needs_root
@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.parametrize("suite", ["executors", "engine"])
def test_executors_and_engine_pass_as_an_unprivileged_user(suite: str) -> None:
    run_as_nobody([f"tests/{suite}", "--ignore=tests/executors/test_unprivileged.py"], timeout_s=360)


@needs_root
@pytest.mark.slow
@pytest.mark.crash
@pytest.mark.timeout(300)
def test_a_sample_of_the_crash_suite_passes_as_an_unprivileged_user() -> None:
    again = "tests/crash/test_driver_killed.py::test_killed_again_and_again_it_still_ends_the_same"
    run_as_nobody(["tests/crash/test_supervisor_killed.py", "tests/crash/test_slots.py", again], timeout_s=240)
