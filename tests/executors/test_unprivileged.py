"""The suites of processes once more, as a user whom rights apply to."""

import pytest
from tests.support.unprivileged import needs_root, run_as_nobody

HERE = "tests/executors"
OF_RIGHTS = (
    f"{HERE}/test_local.py",
    f"{HERE}/test_processes.py",
    f"{HERE}/test_places.py",
    f"{HERE}/test_tokens.py",
    f"{HERE}/test_call_drivers.py",
    f"{HERE}/test_worker.py::test_a_namespace_contains_a_worker_too",
)
"""Processes, namespaces, locks and places; what a function returns or prints is the same for everybody."""


@needs_root
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_executors_pass_as_an_unprivileged_user(*, torture: bool) -> None:
    everything = [HERE, "tests/engine", f"--ignore={HERE}/test_unprivileged.py"]
    run_as_nobody(everything if torture else [*OF_RIGHTS], timeout_s=860)


@needs_root
@pytest.mark.slow
@pytest.mark.crash
@pytest.mark.timeout(300)
def test_a_sample_of_the_crash_suite_passes_as_an_unprivileged_user() -> None:
    again = "tests/crash/test_driver_killed.py::test_killed_again_and_again_it_still_ends_the_same"
    run_as_nobody(["tests/crash/test_supervisor_killed.py", "tests/crash/test_slots.py", again], timeout_s=240)
