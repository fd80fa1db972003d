"""Seven tasks in three lanes: the same trees at any number of slots and through any kill, the user's side untouched."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from tests.cli.world import wait_for
from tests.support.cases import at_length
from tests.support.scene import REPOSITORY
from tests.workshop.seven import FILE, RUN, check_done, make_site
from tests.workshop.site import Site

from budwood._core.events import AttemptEnded, AttemptStarted
from budwood._core.model import AttemptPhase
from budwood.errors import UsageError

pytestmark = [pytest.mark.crash, pytest.mark.timeout(3600)]
MakeSite = Callable[[str], Site]


@pytest.fixture
def sites(tmp_path: Path) -> Iterator[MakeSite]:
    """Make repositories, each in a directory of its own; each user has afterwards what that user had."""
    made: list[tuple[Site, dict[str, str]]] = []

    def make(name: str) -> Site:
        (tmp_path / name).mkdir()
        site = make_site(tmp_path / name / "a project ü")
        made.append((site, site.belongings()))
        return site

    yield make
    for site, before in made:
        site.end()
        assert site.belongings() == before


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the decision log of a run that nobody disturbed, one task after the other."""
    site = make_site(tmp_path_factory.mktemp("undisturbed") / "project")
    site.call("run", FILE, "--slots", "1")
    check_done(site)
    decisions = site.decisions(RUN)
    assert decisions.count('"tree":"') == 7
    site.end()
    return decisions


@pytest.mark.parametrize("slots", at_length(2, 8))
def test_it_ends_the_same_at_any_number_of_slots(sites: MakeSite, expected: str, slots: int) -> None:
    site = sites("slots")
    said = site.call("run", FILE, "--slots", str(slots))
    assert "7 done" in said.out + said.err
    assert "$1.75" in said.out + said.err
    check_done(site)
    assert site.decisions(RUN) == expected
    for end in site.ends(RUN):
        assert site.restored(end)[f"ignored/{end.task}.bin"] == f"seen by nobody: {end.task}\n".encode()
        assert end.left is not None
        assert end.left.outside == ()


def test_a_task_that_lacks_what_another_lane_wrote_fails(tmp_path: Path) -> None:
    site = make_site(tmp_path / "project")
    (site.root / FILE).write_text((site.root / FILE).read_text().replace('"depends_on": [2]', '"depends_on": []'))
    site.call("run", FILE, "--slots", "8", code=1)
    error = site.end_of("4", name=RUN).error
    assert error is not None
    assert "made/2.txt" in error.message
    site.end()


def _drive(site: Site, *, at: int) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "tests.workshop.victim", str(at), "run", FILE, "--slots", "3"]
    environment = {**site.env, "PYTHONPATH": str(REPOSITORY)}
    return subprocess.run(
        command, cwd=site.root, env=environment, capture_output=True, text=True, timeout=120, check=False
    )


def test_killed_at_every_boundary_it_ends_with_the_same_trees(sites: MakeSite, expected: str, *, torture: bool) -> None:
    whole = _drive(sites("whole"), at=-1)
    assert whole.returncode == 0, whole.stderr
    points, died = int(whole.stderr.splitlines()[-1]), 0
    for at in range(1, points, 1 if torture else points // 2):
        site = sites(str(at))
        died += _drive(site, at=at).returncode == -9
        site.call("run", FILE)
        _check_resumed(site, expected)
    assert died >= 2, "nothing was killed, so nothing was tested"
    print(f"\nseven tasks: driver killed at {died} of {points} boundaries: the same trees, the user's side as it was")


def test_killed_at_random_moments_it_ends_with_the_same_trees(sites: MakeSite, expected: str, *, torture: bool) -> None:
    chance, kills = random.Random(20261117), 0
    for number in range(40 if torture else 1):
        site = sites(f"random {number}")
        for _ in range(3):
            driver = site.start("run", FILE, "--slots", "3")
            wait_for(lambda site=site: site.has_store, what="a store")  # type: ignore[misc]
            time.sleep(chance.uniform(0.0, 1.5))
            driver.kill()
            driver.communicate()
            kills += driver.returncode == -9
        site.call("run", FILE)
        _check_resumed(site, expected)
    print(f"\nseven tasks: driver killed at {kills} random moments: the same trees, the user's side as it was")
    assert kills


def test_supervisors_killed_it_ends_with_the_same_trees(sites: MakeSite, expected: str, *, torture: bool) -> None:
    chance, lost = random.Random(7), 0
    for number in range(20 if torture else 1):
        site = sites(f"supervisors {number}")
        driver = site.start("run", FILE, "--slots", "3")
        for kills in (1, 2):  # two: a task that loses three is given up
            wait_for(lambda site=site, kills=kills: _begun(site) >= 3 * kills - 2, what="attempts")  # type: ignore[misc]
            time.sleep(chance.uniform(0.0, 0.3))
            _kill_supervisors(site)
        assert site.finish(driver).code == 0
        _check_resumed(site, expected)
        lost += sum(end.phase is AttemptPhase.ABANDONED for end in site.ends(RUN))
    assert lost, "nothing was lost, so nothing was tested"
    print(f"\nseven tasks: {lost} attempts lost their supervisors: the same trees, the user's side as it was")


def _begun(site: Site) -> int:
    try:
        return sum(isinstance(event, AttemptStarted) for event in site.events(RUN))
    except (UsageError, StopIteration):  # the store, or the run in it, is being made
        return 0


def _kill_supervisors(site: Site) -> None:
    for info in site.root.glob(".budwood/runs/*/slots/*/info.json"):
        pid = msgspec.json.decode(info.read_bytes())["pid"]
        try:
            if b"supervisor" in Path(f"/proc/{pid}/cmdline").read_bytes():
                os.kill(pid, signal.SIGKILL)
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has left


def _check_resumed(site: Site, expected: str) -> None:
    check_done(site)
    assert site.decisions(RUN) == expected
    won = [event for event in site.events(RUN) if isinstance(event, AttemptEnded) and event.phase == "succeeded"]
    assert len(won) == 7
    for end in won:
        assert site.restored(end)[f"ignored/{end.task}.bin"] == f"seen by nobody: {end.task}\n".encode()
