"""A review in whose middle somebody is killed or cancels: nothing is worked, reviewed or paid twice."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.world import wait_for
from tests.support.cases import at_length
from tests.workshop.reviewing import COST, WORK, began, errors, held, plan, says, script
from tests.workshop.site import Site, do, task

from budwood._core.model import AttemptPhase

__all__ = ["began"]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]


@pytest.mark.crash
@pytest.mark.parametrize("ends_alone", [True, *at_length(False)])
def test_a_driver_that_is_killed_during_a_review_repeats_nothing(site: Site, began: Path, ends_alone: bool) -> None:
    gate = site.root.parent / "gate"
    file = plan(site, task("a", WORK, reviewer=held(gate)))
    driver = site.start("run", file)
    wait_for(lambda: Path(f"{gate}.pids").exists(), what="the review")
    driver.kill()
    driver.communicate()
    if ends_alone:
        gate.touch()
        run = next(iter((site.root / ".budwood" / "runs").iterdir()))
        wait_for(lambda: list(run.glob("attempts/*.review1/result.json")), what="the end of the review")
        site.call("run", file)
    else:
        second = site.start("run", file)
        wait_for(lambda: "attempt_adopted" in site.call("story", "plan", "--json").out, what="the adoption")
        gate.touch()
        site.finish(second)
    [end] = site.ends()
    assert (end.attempt, end.phase, began.read_text()) == (1, AttemptPhase.SUCCEEDED, "a\n")
    assert end.usage.cost_usd == 0.5
    assert len(Path(f"{gate}.pids").read_text().splitlines()) == 1


def test_what_is_cancelled_while_it_is_reviewed_is_kept(site: Site, began: Path) -> None:
    gate = site.root.parent / "gate"
    driver = site.start("run", plan(site, task("a", WORK, reviewer=held(gate))))
    wait_for(lambda: Path(f"{gate}.pids").exists(), what="the review")
    site.call("cancel", "plan", "a")
    site.finish(driver)
    end = site.end_of("a")
    assert (end.phase, site.state().task("a").phase.value) == (AttemptPhase.CANCELLED, "cancelled")
    assert site.restored(end)["made.txt"] == b"more\n"


@pytest.mark.crash
def test_a_review_that_was_lost_with_its_supervisor_is_asked_for_again(site: Site, began: Path) -> None:
    gate = site.root.parent / "gate"
    file = plan(site, task("a", WORK, reviewer=held(gate)))
    driver = site.start("run", file)
    wait_for(lambda: Path(f"{gate}.pids").exists(), what="the review")
    program = int(Path(f"{gate}.pids").read_text().split()[0])
    supervisor = int(Path(f"/proc/{program}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill(supervisor, signal.SIGKILL)
    wait_for(lambda: len(Path(f"{gate}.pids").read_text().splitlines()) == 2, what="the second review")
    gate.touch()
    assert site.finish(driver).code == 0
    [end] = site.ends()
    assert (end.attempt, end.phase, began.read_text()) == (1, AttemptPhase.SUCCEEDED, "a\n")
    assert len(Path(f"{gate}.pids").read_text().splitlines()) == 2


@pytest.mark.crash
@pytest.mark.torture
@pytest.mark.timeout(1800)
def test_killed_at_every_boundary_nothing_is_worked_or_reviewed_twice(tmp_path: Path, *, torture: bool) -> None:
    points = _killed(tmp_path / "whole", at=-1)
    for at in range(1, points, 1 if torture else points // 2):
        _killed(tmp_path / str(at), at=at)
    print(f"\nreviews: driver killed at {points - 1} boundaries: each asked for once, each paid for once")


def _killed(folder: Path, *, at: int) -> int:
    """Let the driver die at a point, and another one go on; return how many points there were."""
    folder.mkdir()
    site = Site(folder / "project")
    began, read = folder / "began", folder / "read"
    site.env |= {"BEGAN": str(began), "PYTHONPATH": str(Path(__file__).parents[2])}
    tell = do("run", command=f"echo $BUDWOOD_ATTEMPT >> '{read}'")
    verdicts = (says("hm", only_attempt=1), says("send back", "more", only_attempt=2), says("accept", from_attempt=3))
    file = plan(site, task("a", WORK, reviewer=script(tell, COST, *verdicts), retries=1, score="wc -l < made.txt"))
    words = [sys.executable, "-m", "tests.workshop.victim", str(at), "run", file]
    try:
        died = subprocess.run(
            words, cwd=site.root, env=site.env, capture_output=True, text=True, timeout=120, check=False
        )
        site.call("run", file)
        assert (errors(site), began.read_text(), read.read_text()) == (
            ["reviewer", "review", ""],
            "a\na\n",
            "1\n2\n3\n",
        )
        assert [end.usage.cost_usd for end in site.ends()] == [0.75, 0.25, 0.75]
        assert site.restored(site.end_of("a", 3))["made.txt"] == b"more\nmore\n"
        return int(died.stderr.splitlines()[-1]) if at < 0 else 0
    finally:
        site.end()
