"""Supervisors and grandchildren killed with -9: nothing of the attempt survives, and the decisions are the same."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from tests.support.scene import REPOSITORY, Scene, check_nothing_lost, drive_and_die, said, survivors

from budwood._core.events import AttemptAdopted, AttemptStarted, Recorded
from budwood._core.model import AttemptPhase, RunSettings, TaskPhase, TaskSpec
from budwood._core.state import RunState

pytestmark = [pytest.mark.crash, pytest.mark.timeout(900)]


def parent_of(pid: int) -> int:
    """Return who started a process."""
    stat = Path(f"/proc/{pid}/stat").read_text()
    return int(stat[stat.rindex(")") + 2 :].split()[1])


class KillFirst:
    """Kills something of each of the first N attempts as soon as they have started."""

    def __init__(self, count: int, *, supervisor: bool) -> None:
        self.left = count
        self.killed = 0
        self._supervisor = supervisor

    def __call__(self, events: Sequence[Recorded], _: RunState) -> None:
        for recorded in events:
            if isinstance(recorded.event, AttemptStarted) and self.left:
                self.left -= 1
                self._kill(recorded.event.pid)

    def _kill(self, pid: int) -> None:
        try:
            os.kill(parent_of(pid) if self._supervisor else pid, signal.SIGKILL)
        except (FileNotFoundError, ProcessLookupError):
            return
        self.killed += 1


def slow_scene(root: Path) -> Scene:
    """Six tasks that last long enough to be hit, each with a grandchild that left the session."""
    command = "setsid sleep 30 >/dev/null 2>&1 & sleep 0.3"
    tasks = [TaskSpec(id=f"t{n}", run=said(command), after=(f"t{n - 2}",) if n > 1 else ()) for n in range(6)]
    return Scene(root, tasks, settings=RunSettings(slots=2, seed=3, backoff_s=0.01, grace_s=0.5))


def test_a_killed_supervisor_costs_its_attempt_and_nothing_else(tmp_path: Path, *, torture: bool) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    slow_scene(plain).drive()
    expected = slow_scene(plain).decisions()
    for number in range(10 if torture else 2):
        root = tmp_path / str(number)
        root.mkdir()
        scene = slow_scene(root)
        killer = KillFirst(2, supervisor=True)
        scene.drive(listener=killer)
        assert killer.killed == 2
        assert scene.decisions() == expected
        check_nothing_lost(scene, abandoned=2)
    print(f"\n{number + 1} runs with 2 supervisors killed in each: 0 lost, 0 counted twice, 0 surviving processes")


def test_a_task_that_kills_its_supervisors_fails_in_the_end(tmp_path: Path) -> None:
    scene = Scene(tmp_path, [TaskSpec(id="evil", run="kill -9 $PPID; sleep 5"), TaskSpec(id="good", run="true")])
    scene.drive()
    state = scene.state()
    assert state.task("evil").phase is TaskPhase.FAILED
    assert state.task("evil").attempts == 3
    assert state.task("good").phase is TaskPhase.DONE
    assert survivors(scene) == []


def test_a_killed_grandchild_is_the_attempts_own_business(tmp_path: Path) -> None:
    scene = Scene(tmp_path, [TaskSpec(id="a", run=said("sh -c 'kill -9 $$'; exit 4"))])
    scene.drive()
    assert scene.state().task("a").phase is TaskPhase.FAILED
    check_nothing_lost(scene)


def test_attempts_alive_at_the_drivers_death_are_adopted_not_restarted(tmp_path: Path) -> None:
    for n in (1, 2):
        os.mkfifo(tmp_path / f"gate{n}")
    scene = gated_scene(tmp_path)
    _kill_driver_when_begun("gated_scene", scene, count=2)
    before = scene.effects()
    verdict = scene.drive(listener=_open_gates(tmp_path))
    assert verdict.exit_code == 0
    assert sum(isinstance(r.event, AttemptAdopted) for r in scene.events()) == 2
    assert scene.effects() == before
    check_nothing_lost(scene)


def _kill_driver_when_begun(factory: str, scene: Scene, *, count: int) -> None:
    command = [
        sys.executable,
        "-m",
        "tests.support.victim",
        f"tests.crash.test_supervisor_killed:{factory}",
        str(scene.root),
        "-1",
    ]
    victim = subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 20
    while len(scene.effects()) < count and time.monotonic() < deadline:
        time.sleep(0.005)
    victim.kill()
    victim.wait()
    assert len(scene.effects()) == count


def gated_scene(root: Path) -> Scene:
    """Two tasks that wait for somebody to open a gate."""
    return Scene(root, [TaskSpec(id=n, run=said("read line < gate$BUDWOOD_TASK")) for n in (1, 2)])


def _open_gates(root: Path) -> Callable[[Sequence[Recorded], RunState], None]:
    """Let an attempt go on once a driver has adopted it."""

    def adopted(events: Sequence[Recorded], _: RunState) -> None:
        for recorded in events:
            if isinstance(recorded.event, AttemptAdopted):
                (root / f"gate{recorded.event.task}").write_text("go\n")

    return adopted


def test_a_supervisor_and_its_driver_killed_together_leave_nothing_behind(tmp_path: Path) -> None:
    scene = slow_scene(tmp_path)
    _kill_driver_when_begun("slow_scene", scene, count=2)
    for info in tmp_path.glob(".budwood/runs/*/slots/*/info.json"):
        with suppress(ProcessLookupError):
            os.kill(json.loads(info.read_text())["pid"], signal.SIGKILL)
    scene.drive()
    assert {task.phase for task in scene.state().tasks} == {TaskPhase.DONE}
    check_nothing_lost(scene, abandoned=None)
    with scene.store() as store:
        ended = {row.phase for row in store.attempts(scene.run_id)}
    assert ended == {AttemptPhase.SUCCEEDED, AttemptPhase.ABANDONED}


def test_a_torn_or_missing_result_is_an_abandoned_attempt(tmp_path: Path) -> None:
    for torn in (True, False):
        root = tmp_path / str(torn)
        root.mkdir()
        drive_and_die("tests.crash.test_supervisor_killed:quick_scene", root, at=6)
        directory = _wait_for_result(root)
        if torn:
            (directory / "result.json").write_bytes(b'{"attempt": "0.1", "fen')
        else:
            (directory / "result.json").unlink()
        scene = quick_scene(root)
        scene.drive()
        with scene.store() as store:
            phases = [row.phase for row in store.attempts(scene.run_id)]
        assert phases == [AttemptPhase.ABANDONED, AttemptPhase.SUCCEEDED]


def quick_scene(root: Path) -> Scene:
    """One task that is over at once."""
    return Scene(root, [TaskSpec(id="only", run="true")])


def _wait_for_result(root: Path) -> Path:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        found = list(root.glob(".budwood/runs/*/attempts/*/result.json"))
        locks = list(root.glob(".budwood/runs/*/slots/*/lock"))
        if found and locks:
            return found[0].parent
        time.sleep(0.01)
    raise AssertionError("the supervisor left no result")
