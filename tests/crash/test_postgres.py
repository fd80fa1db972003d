"""A run on PostgreSQL while its server is restarted, its connections are cut and its driver is killed.

Nothing is lost, repeated or counted twice, and the decisions are those of a run that nobody disturbed.
"""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.crash.scenes import hundred, thirty
from tests.support.scene import REPOSITORY, Scene, check_nothing_lost, drive_and_die
from tests.support.server import Server, name_of

from budwood._core.events import DriverStarted
from budwood.stores.postgres.leases import LASTS_S

pytestmark = [pytest.mark.crash, pytest.mark.postgres, pytest.mark.timeout(1800)]
HUNDRED, THIRTY = "tests.crash.scenes:hundred", "tests.crash.scenes:thirty"
LONGEST_S = 300


@contextmanager
def driven(factory: str, root: Path) -> Iterator[subprocess.Popen[str]]:
    """Drive a scene in a process of its own, to its end."""
    command = [sys.executable, "-m", "tests.support.victim", factory, str(root), "-1"]
    process = subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        yield process
        _, told = process.communicate(timeout=LONGEST_S)
        assert process.returncode == 0, told
    finally:
        process.kill()
        process.communicate()


def placed(scene: Scene, address: str) -> Scene:
    """Put a scene's run into a database."""
    scene.root.mkdir()
    scene.keep_in(address)
    return scene


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Keep the decision log of a run that nobody disturbed; on SQLite, because where it is must make no difference."""
    scene = hundred(tmp_path_factory.mktemp("undisturbed"))
    scene.drive()
    return scene.decisions()


def wait_begun(scene: Scene) -> None:
    """Wait until the first attempts have left their lines."""
    until_s = time.monotonic() + 60
    while len(scene.effects()) < 4:
        assert time.monotonic() < until_s
        time.sleep(0.01)


def test_a_server_that_is_restarted_again_and_again_loses_nothing(
    tmp_path: Path, postgres: Server, database: str, undisturbed: bytes, *, torture: bool
) -> None:
    wanted = 20 if torture else 3
    scene = placed(hundred(tmp_path / "run"), database)
    restarts = 0
    with driven(HUNDRED, scene.root) as driver:
        wait_begun(scene)
        while restarts < wanted and driver.poll() is None:
            postgres.restart("immediate" if restarts % 2 else "fast")
            restarts += 1
            time.sleep(0.1 + 0.05 * (restarts % 4))  # of the run's time: it must meet it in all kinds of moments
        assert restarts == wanted, "the run was over before the server had been restarted so often"
    assert scene.decisions() == undisturbed
    check_nothing_lost(scene)
    drives = [event for event in scene.events() if isinstance(event.event, DriverStarted)]
    assert len(drives) == 1, "the same driver went on"
    print(f"\nPostgreSQL restarted {restarts} times: 0 lost, 0 counted twice, the same decisions")


def test_connections_that_are_cut_again_and_again_lose_nothing(
    tmp_path: Path, postgres: Server, database: str, undisturbed: bytes, *, torture: bool
) -> None:
    scene = placed(hundred(tmp_path / "run"), database)
    least, cuts = (40, 0) if torture else (6, 0)
    with driven(HUNDRED, scene.root) as driver:
        wait_begun(scene)
        while driver.poll() is None and cuts < 10 * least:
            cuts += postgres.cut(name_of(database))
            time.sleep(0.03 if torture else 0.2)
    assert cuts >= least
    assert scene.decisions() == undisturbed
    check_nothing_lost(scene)
    assert len([event for event in scene.events() if isinstance(event.event, DriverStarted)]) == 1
    print(f"\n{cuts} connections cut: 0 lost, 0 counted twice, the same decisions")


def test_a_server_that_is_away_for_longer_than_a_lease_finds_the_same_driver(
    tmp_path: Path, postgres: Server, database: str, undisturbed: bytes, *, torture: bool
) -> None:
    scene = placed(hundred(tmp_path / "run"), database)
    with driven(HUNDRED, scene.root):
        wait_begun(scene)
        postgres.stop("immediate")
        try:
            time.sleep(LASTS_S + 1 if torture else 2)
            ran = len(scene.effects())
        finally:
            postgres.start()
    assert ran >= 4
    assert scene.decisions() == undisturbed
    check_nothing_lost(scene)
    assert len([event for event in scene.events() if isinstance(event.event, DriverStarted)]) == 1


def test_a_driver_killed_anywhere_is_succeeded_soon_and_to_the_same_decisions(
    tmp_path: Path, database: str, *, torture: bool
) -> None:
    plain = thirty(tmp_path / "plain")
    plain.root.mkdir()
    plain.drive()
    died = 0
    for at in range(2, 180, 6 if torture else 45):
        scene = placed(thirty(tmp_path / str(at)), database)
        died += drive_and_die(THIRTY, scene.root, at=at) == -9
        begin_s = time.monotonic()
        with scene.store() as store:
            store.release(store.acquire(scene.run_id, "the next"))
        assert time.monotonic() - begin_s < LASTS_S / 2, "a dead driver is not waited for"
        scene.drive()
        assert scene.decisions() == plain.decisions(), f"killed at point {at}"
        check_nothing_lost(scene)
    assert died >= 3
    print(f"\nkilled at {died} boundaries on PostgreSQL: 0 lost, 0 counted twice")
