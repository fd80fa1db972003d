"""What is removed, emptied or stopped under a run: said plainly, and nothing is run twice because of it."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from tests.support.scene import REPOSITORY, Scene, said, survivors

from budwood._core.events import AttemptStarted, DriverSeen, DriverStarted, RunPaused
from budwood._core.model import AttemptPhase, RunSettings, TaskPhase, TaskSpec
from budwood.errors import ExecutorError, NoSuchId, StoreDamaged, StoreUnwritable

pytestmark = pytest.mark.crash


def slow(root: Path) -> Scene:
    """Two tasks that last a while, so that a driver can be killed while both run."""
    settings = RunSettings(slots=2, grace_s=0.5, backoff_s=0.01)
    return Scene(root, [TaskSpec(id=n, run=said("sleep 2")) for n in (1, 2)], settings=settings)


def timed(root: Path) -> Scene:
    """A task that outlasts its run's time budget."""
    return Scene(root, [TaskSpec(id=1, run="sleep 4")], settings=RunSettings(slots=1, grace_s=0.5, budget_time_s=3.0))


def start_driver(factory: str, root: Path) -> "subprocess.Popen[bytes]":
    """Drive a scene in another process."""
    command = [sys.executable, "-m", "tests.support.victim", f"tests.crash.test_lost_files:{factory}", str(root), "-1"]
    return subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait for something that must come soon."""
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def started(scene: Scene) -> int:
    """Count the attempts that the store knows to have begun."""
    if not (scene.root / ".budwood" / "store.db").exists():
        return 0
    try:
        return sum(isinstance(recorded.event, AttemptStarted) for recorded in scene.events())
    except NoSuchId:  # its driver has made the store and not the run
        return 0


def test_an_attempt_that_the_store_knows_to_run_is_not_sent_again_when_its_directory_is_gone(tmp_path: Path) -> None:
    scene = slow(tmp_path)
    driver = start_driver("slow", tmp_path)
    wait_until(lambda: started(scene) == 2)
    driver.kill()
    driver.wait()
    shutil.rmtree(tmp_path / ".budwood" / "runs")
    scene.drive()
    assert set(scene.effects().values()) == {1}
    with scene.store() as store:
        phases = [row.phase for row in store.attempts(scene.run_id)]
    assert phases == [AttemptPhase.ABANDONED, AttemptPhase.SUCCEEDED] * 2
    assert survivors(scene) == []


def test_a_store_that_was_removed_under_its_driver_ends_the_drive(tmp_path: Path) -> None:
    scene = Scene(tmp_path, [TaskSpec(id=1, run="rm .budwood/store.db*"), TaskSpec(id=2, run="true", after=(1,))])
    with pytest.raises(StoreUnwritable, match="was removed while it was in use"):
        scene.drive()


def test_a_store_that_was_emptied_is_damaged_not_new(tmp_path: Path) -> None:
    scene = Scene(tmp_path, [TaskSpec(id=1, run=said())])
    scene.drive()
    for file in (tmp_path / ".budwood").glob("store.db*"):
        file.unlink()
    (tmp_path / ".budwood" / "store.db").touch()
    with pytest.raises(StoreDamaged, match="it is empty, and it was not always"):
        scene.drive()
    assert set(scene.effects().values()) == {1}


def test_a_stopped_supervisor_is_named_and_its_attempt_adopted_once_it_goes_on(tmp_path: Path) -> None:
    scene = slow(tmp_path)
    driver = start_driver("slow", tmp_path)
    wait_until(lambda: started(scene) == 2)
    infos = list(tmp_path.glob(".budwood/runs/*/slots/*/info.json"))
    pids = [msgspec.json.decode(info.read_bytes())["pid"] for info in infos]
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    driver.kill()
    driver.wait()
    with pytest.raises(ExecutorError, match="lives and does not answer"):
        scene.drive()
    for pid in pids:
        os.kill(pid, signal.SIGCONT)
    scene.drive()
    assert {task.phase for task in scene.state().tasks} == {TaskPhase.DONE}
    assert set(scene.effects().values()) == {1}


def test_the_time_of_killed_drivers_counts_towards_the_budget(tmp_path: Path) -> None:
    scene = timed(tmp_path)
    driver = start_driver("timed", tmp_path)
    wait_until(lambda: started(scene) == 1)
    wait_until(lambda: sum(isinstance(recorded.event, DriverSeen) for recorded in scene.events()) == 2)
    driver.kill()
    driver.wait()
    scene.drive()
    resumed = next(r.at_ms for r in scene.events() if isinstance(r.event, DriverStarted) and r.event.fence == 2)
    paused = next(recorded.at_ms for recorded in scene.events() if isinstance(recorded.event, RunPaused))
    assert (paused - resumed) / 1000 < 2.1, "the killed driver had driven for a second, which leaves two of three"


def test_what_an_abandoned_attempt_said_of_its_cost_counts(tmp_path: Path) -> None:
    report = """echo '{"cost_usd": 0.7}' > $BUDWOOD_USAGE"""
    scene = Scene(tmp_path, [TaskSpec(id=1, run=f"{report}; test $BUDWOOD_ATTEMPT != 1 || kill -9 $PPID; sleep 0.1")])
    verdict = scene.drive()
    assert verdict.cost_usd == pytest.approx(1.4)
