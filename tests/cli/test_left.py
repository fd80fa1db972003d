"""Attempts that a killed driver left: what became of them is looked up, not guessed from the store."""

import fcntl
import signal
from pathlib import Path

import pytest
from tests.cli.world import HELD, Budwood, send, task, wait_for
from tests.support.program import call
from tests.support.told import Told

from budwood._core.rows import AttemptRow
from budwood.cli.found import Found, look_for
from budwood.stores import open_store

pytestmark = pytest.mark.slow


def found_in(cwd: Path) -> list[object]:
    """Ask `status` what it found of each open attempt."""
    running = call("status", "--json", cwd=cwd).json["running"]
    assert isinstance(running, list)
    return [one["found"] for one in running]


def attempts(budwood: Budwood) -> list[AttemptRow]:
    """List the attempts of the newest run."""
    with open_store(budwood.root / ".budwood" / "store.db", create=False) as store:
        return store.attempts(store.runs()[-1].id)


def test_an_attempt_that_ended_meanwhile_is_not_said_to_run(budwood: Budwood) -> None:
    budwood.plan(task("a", HELD), task("b", HELD))
    driver = budwood.start("run", "plan.toml")
    budwood.wait_began("a", "b")
    wait_for(lambda: all(row.started_at_ms for row in attempts(budwood)), what="the store to know that both run")
    send(driver, signal.SIGKILL)
    driver.wait()
    assert found_in(budwood.root) == ["running", "running"]
    assert "has been running for" in budwood.call("why", "plan", "a").out
    budwood.let_go()
    wait_for(lambda: found_in(budwood.root) == ["ended", "ended"], what="both to end")
    said = budwood.call("status")
    assert "no longer running\n  TASK  ATTEMPT  IT\n" in said.out
    assert "  a           1  has ended, and its result is not yet taken\n" in said.out
    assert "\nrunning\n" not in said.out
    assert said.err == "\nhint: budwood resume plan\n"
    why = budwood.call("why", "plan", "a")
    assert why.out == "task a of run plan: active\n  attempt 1 has ended, and its result is not yet taken\n"
    assert why.err == "\nhint: budwood resume plan\n"
    assert "plan: 2 done" in budwood.call("resume", "plan").err


def test_an_attempt_without_supervisor_and_result_is_lost(night: Told) -> None:
    assert found_in(night.root) == [None, None]
    night.leave()
    assert found_in(night.root) == ["lost", "lost"]
    assert (
        "was lost with its supervisor; the task will be tried again" in call("why", "night", "docs", cwd=night.root).out
    )


@pytest.mark.parametrize(
    ("begun", "files", "locked", "found"),
    [
        (False, (), False, Found.UNSENT),
        (False, ("begun",), False, Found.LOST),
        (True, (), False, Found.LOST),
        (True, (), True, Found.RUNNING),
        (True, ("begun", "result.json"), True, Found.ENDED),
        (False, ("begun", "result.json"), False, Found.ENDED),
    ],
)
def test_files_and_locks_tell(
    tmp_path: Path, *, begun: bool, files: tuple[str, ...], locked: bool, found: Found
) -> None:
    (tmp_path / "attempts" / "4.2").mkdir(parents=True)
    (tmp_path / "slots" / "1").mkdir(parents=True)
    for name in files:
        (tmp_path / "attempts" / "4.2" / name).touch()
    with (tmp_path / "slots" / "1" / "lock").open("w") as lock:
        if locked:
            fcntl.flock(lock, fcntl.LOCK_EX)
        assert look_for(tmp_path, task=4, attempt=2, slot=1, begun=begun) is found
