"""The driver killed with -9 before and after every commit and every command: nothing lost, repeated or left running."""

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.crash.scenes import thirty
from tests.support.scene import REPOSITORY, check_nothing_lost, drive_and_die

pytestmark = [pytest.mark.crash, pytest.mark.timeout(1800)]
THIRTY = "tests.crash.scenes:thirty"


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[int, bytes]:
    """Count the points at which a driver can die, and keep the decision log of a run that nobody disturbed."""
    root = tmp_path_factory.mktemp("undisturbed")
    command = [sys.executable, "-m", "tests.support.victim", THIRTY, str(root), "-1"]
    points = int(subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True, timeout=60).stdout)
    check_nothing_lost(thirty(root))
    return points, thirty(root).decisions()


def _kill_and_resume(root: Path, *, at: int, decisions: bytes) -> bool:
    root.mkdir()
    died = drive_and_die(THIRTY, root, at=at) == -9
    scene = thirty(root)
    scene.drive()
    assert scene.decisions() == decisions, f"killed at point {at}"
    check_nothing_lost(scene)
    return died


def test_killed_at_every_boundary_it_resumes_to_the_same_decisions(
    tmp_path: Path, undisturbed: tuple[int, bytes], *, torture: bool
) -> None:
    points, decisions = undisturbed
    step = 1 if torture else 9
    died = sum(_kill_and_resume(tmp_path / str(at), at=at, decisions=decisions) for at in range(0, points, step))
    assert died >= points // step * 0.9, "most victims must have died, or nothing was tested"
    print(f"\nkilled at {died} of {points} boundaries: 0 lost, 0 counted twice, 0 surviving processes")


def test_killed_at_random_times_it_resumes_to_the_same_decisions(
    tmp_path: Path, undisturbed: tuple[int, bytes], *, torture: bool
) -> None:
    _, decisions = undisturbed
    chance = random.Random(20261117)
    rounds = 50 if torture else 6
    for number in range(rounds):
        root = tmp_path / str(number)
        root.mkdir()
        _kill_at_random(root, chance)
        scene = thirty(root)
        scene.drive()
        assert scene.decisions() == decisions, f"round {number}"
        check_nothing_lost(scene)
    print(f"\n{rounds} random kills: 0 lost, 0 counted twice, 0 surviving processes")


def _kill_at_random(root: Path, chance: random.Random) -> None:
    command = [sys.executable, "-m", "tests.support.victim", THIRTY, str(root), "-1"]
    victim = subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.DEVNULL)
    store = root / ".budwood" / "store.db"
    while not store.exists() and victim.poll() is None:  # from here on, not from the interpreter's own start
        time.sleep(0.001)
    time.sleep(chance.uniform(0.0, 0.6))
    victim.kill()
    victim.wait()


def test_killed_again_and_again_it_still_ends_the_same(tmp_path: Path, undisturbed: tuple[int, bytes]) -> None:
    _, decisions = undisturbed
    root = tmp_path / "often"
    root.mkdir()
    for at in (5, 9, 14, 3, 20, 7, 11):
        drive_and_die(THIRTY, root, at=at)
    scene = thirty(root)
    scene.drive()
    assert scene.decisions() == decisions
    check_nothing_lost(scene)
