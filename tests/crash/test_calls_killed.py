"""The driver killed with -9 while functions are called: calls may be repeated, their results count once."""

import random
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest
from tests.crash.scenes import calls, climb
from tests.support.cases import at_length
from tests.support.scene import REPOSITORY, Scene, check_records, drive_and_die

from budwood._core.events import AttemptEnded
from budwood._core.model import AttemptPhase

pytestmark = [pytest.mark.crash, pytest.mark.timeout(1800)]
SCENES = {"calls": calls, "climb": climb}


def results(scene: Scene) -> dict[str, object]:
    """Collect what the successful calls returned; a task that succeeded twice is an error."""
    found: dict[str, object] = {}
    for recorded in scene.events():
        event = recorded.event
        if isinstance(event, AttemptEnded) and event.phase is AttemptPhase.SUCCEEDED:
            assert str(event.task) not in found
            assert isinstance(event.result, msgspec.Raw)
            found[str(event.task)] = msgspec.json.decode(event.result)
    return found


@pytest.mark.parametrize("name", ["calls", *at_length("climb")])
def test_killed_again_and_again_a_run_of_calls_ends_with_the_same_results(
    name: str, tmp_path: Path, *, torture: bool
) -> None:
    (tmp_path / "undisturbed").mkdir()
    undisturbed = SCENES[name](tmp_path / "undisturbed")
    undisturbed.drive()
    expected = results(undisturbed)
    assert len(expected) >= 60
    assert set(undisturbed.effects().values()) == {1}
    chance, kills, repeated = random.Random(20261117), 0, 0
    for number in range(20 if torture else 2):
        root = tmp_path / str(number)
        root.mkdir()
        kills += sum(_kill_at_random(f"tests.crash.scenes:{name}", root, chance) for _ in range(3))
        scene = SCENES[name](root)
        scene.drive()
        assert results(scene) == expected
        assert scene.decisions() == undisturbed.decisions()
        check_records(scene)
        assert set(scene.effects()) == set(undisturbed.effects())
        repeated += sum(scene.effects().values()) - sum(undisturbed.effects().values())
    print(f"\n{name}: {kills} kills: 0 lost, 0 counted twice, 0 surviving processes; {repeated} calls repeated")
    assert kills, "nothing was killed, so nothing was tested"


def _kill_at_random(factory: str, root: Path, chance: random.Random) -> bool:
    command = [sys.executable, "-m", "tests.support.victim", factory, str(root), "-1"]
    victim = subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.DEVNULL)
    effects = root / "effects"
    before = effects.stat().st_size if effects.exists() else 0
    while victim.poll() is None and not (effects.exists() and effects.stat().st_size > before):
        time.sleep(0.001)  # from the first call on, not from the interpreter's own start
    time.sleep(chance.uniform(0.0, 0.15))
    victim.kill()
    return victim.wait() == -9


@pytest.mark.parametrize("name", ["climb", *at_length("calls")])
def test_killed_at_every_boundary_a_run_of_calls_ends_with_the_same_decisions(
    name: str, tmp_path: Path, *, torture: bool
) -> None:
    factory = f"tests.crash.scenes:{name}"
    whole = tmp_path / "whole"
    whole.mkdir()
    command = [sys.executable, "-m", "tests.support.victim", factory, str(whole), "-1"]
    points = int(subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True, timeout=60).stdout)
    expected = results(SCENES[name](whole))
    died = 0
    for at in range(0, points, 1 if torture else max(1, points // 5)):
        root = tmp_path / str(at)
        root.mkdir()
        died += drive_and_die(factory, root, at=at) == -9
        scene = SCENES[name](root)
        scene.drive()
        assert results(scene) == expected
        assert scene.decisions() == SCENES[name](whole).decisions()
        check_records(scene)
    print(f"\n{name}: killed at {died} boundaries: 0 lost, 0 counted twice, 0 surviving processes")
    assert died
