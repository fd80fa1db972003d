"""Odd places and times: long paths, clocks that jump, disks that are full."""

import itertools
import subprocess
import sys
from pathlib import Path

import pytest
from tests.executors.jumping import jumping_scene
from tests.executors.looks import attempts_of, printed
from tests.support.mounts import mounted
from tests.support.scene import REPOSITORY, Scene, check_nothing_lost, said, survivors

from budwood._core.model import AttemptPhase, RunSettings, TaskSpec
from budwood.engine.verdict import Exit
from budwood.errors import LeaseLost, StoreError


def test_a_long_path_with_spaces_and_other_letters(tmp_path: Path) -> None:
    root = tmp_path
    while len(str(root)) < 200:
        root = root / "wörk ∞ of 'many' \"words\""
    root.mkdir(parents=True)
    tasks = [
        TaskSpec(id="a", run=said("pwd; echo $TMPDIR")),
        TaskSpec(id="b", run=said("false"), after=("a",), retries=1),
    ]
    scene = Scene(root, tasks)
    assert scene.drive().exit_code == Exit.NOT_MET
    where, tmp = printed(scene).decode().splitlines()
    assert where == str(root)
    assert len(tmp) < 100
    check_nothing_lost(scene)


def test_a_clock_that_jumps_changes_no_duration_and_no_order(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.executors.jumping", str(tmp_path)]
    ran = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True, timeout=60)
    code, driven_s = ran.stdout.split()
    assert code == "0"
    assert 0 < float(driven_s) < 30
    scene = jumping_scene(tmp_path)
    times = [recorded.at_ms for recorded in scene.events()]
    assert times == sorted(times)
    assert times[-1] - times[0] < 30_000
    for row in attempts_of(scene):
        assert row.wall_s is not None
        assert 0 <= row.wall_s < 10
        assert row.finished_at_ms is not None
        assert 0 <= row.finished_at_ms - row.queued_at_ms < 10_000
    check_nothing_lost(scene)


def noisy_scene(root: Path) -> Scene:
    """Six tasks that print two megabytes each."""
    command = said("head -c 2000000 /dev/zero | tr '\\0' x")
    tasks = [TaskSpec(id=n, run=command, after=(n - 1,) if n % 3 else ()) for n in range(6)]
    return Scene(root, tasks, settings=RunSettings(slots=2, seed=3, backoff_s=0.01, grace_s=1.0))


def test_a_full_disk_pauses_the_run_and_it_goes_on_when_there_is_room(tmp_path: Path) -> None:
    runs = tmp_path / ".budwood" / "runs"
    runs.mkdir(parents=True)
    scene = noisy_scene(tmp_path)
    with mounted(runs, size="1m"):
        verdict = scene.drive()
        assert verdict.exit_code == Exit.WAITS
        assert scene.state().pause_kind == "disk"
        assert verdict.externals.keys() <= {f"disk_full (task {n})" for n in range(6)}
        assert verdict.failed == ()
        assert scene.drive().exit_code == Exit.WAITS  # still full: nothing is lost by trying
        subprocess.run(["mount", "-o", "remount,size=64m", str(runs)], check=True)
        assert scene.drive().exit_code == Exit.GOAL_MET
        sizes = {len(printed(scene, row.task, row.number)) for row in attempts_of(scene) if row.error is None}
        assert sizes == {2_000_000}
        assert {each.tries for each in scene.state().tasks} == {1}
        check_nothing_lost(scene)


@pytest.mark.parametrize("size", ["4k", "64k,nr_inodes=6", "64k,nr_inodes=9"])
@pytest.mark.parametrize("function", [None, "time:time"])
def test_a_disk_without_room_for_a_supervisor_pauses_the_run(tmp_path: Path, size: str, function: str | None) -> None:
    runs = tmp_path / ".budwood" / "runs"
    runs.mkdir(parents=True)
    run = "true" if function is None else None
    tasks = [TaskSpec(id=n, run=run, function=function) for n in range(4)]
    scene = Scene(tmp_path, tasks, settings=RunSettings(slots=2, seed=3))
    with mounted(runs, size=size):
        assert scene.drive().exit_code == Exit.WAITS
        assert scene.state().pause_kind == "disk"
        assert {row.error.type for row in attempts_of(scene) if row.error is not None} == {"disk_full"}
        unbegun = [row for row in attempts_of(scene) if row.error is not None and "not begun" in row.error.message]
        assert unbegun
        assert {row.cost_usd for row in unbegun} == {0.0}
        subprocess.run(["mount", "-o", "remount,size=64m,nr_inodes=1000", str(runs)], check=True)
        assert scene.drive().exit_code == Exit.GOAL_MET
        assert {each.tries for each in scene.state().tasks} == {1}


@pytest.mark.parametrize("room", ["300k", "700k", "2m"])
def test_a_disk_that_is_full_for_the_store_too_loses_nothing(tmp_path: Path, room: str) -> None:
    place = tmp_path / "small"
    scene = noisy_scene(place)
    with mounted(place, size=room):
        for _ in itertools.repeat(None, 2):
            try:
                assert scene.drive().exit_code == Exit.WAITS
            except (StoreError, OSError) as error:  # it could not even say so in the store
                assert "full" in str(error) or "space" in str(error).lower()  # noqa: PT017
        subprocess.run(["mount", "-o", "remount,size=128m", str(place)], check=True)
        # A supervisor that could not leave its result while the disk was full says so now, and the run pauses again.
        codes = [code for code in (scene.drive().exit_code for _ in range(3)) if code != Exit.WAITS]
        assert set(codes) == {Exit.GOAL_MET}
        rows = attempts_of(scene)
        assert {row.phase for row in rows} <= {AttemptPhase.SUCCEEDED, AttemptPhase.FAILED, AttemptPhase.ABANDONED}
        won = [row.task for row in rows if row.phase is AttemptPhase.SUCCEEDED]
        assert sorted(won) == list(range(6))
    assert survivors(scene) == []


def test_a_run_whose_supervisors_obey_a_newer_driver_is_refused_with_that_reason(tmp_path: Path) -> None:
    scene = Scene(tmp_path, [TaskSpec(id="a", run="true")])
    folder = tmp_path / ".budwood" / "runs" / scene.run_id
    folder.mkdir(parents=True)
    (folder / "fence").write_text("99")
    with pytest.raises(LeaseLost, match="a newer driver"):
        scene.drive()
