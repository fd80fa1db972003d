"""Beam decides the same at any number of slots and wherever its driver is killed; nothing is repeated or stranded.

Every third evaluation fails once, one idea fails for ever, one never ends.
"""

import random
import time
from pathlib import Path

import pytest
from tests.cli.world import wait_for
from tests.search.grove import Grove

from budwood._core.events import AttemptStarted
from budwood._core.model import RunPhase, TaskPhase
from budwood.errors import UsageError

pytestmark = [pytest.mark.slow, pytest.mark.crash, pytest.mark.timeout(3600)]
IDEAS = {
    "a": "worth 1",
    "b": "worth 3",
    "c": "worth 2",
    "d": "worth 9, and it will never succeed",
    "e": "worth 4, and it will hang at depth 1",
    "f": "worth -1",
}
SLOTS = (1, 2, 8)


def make(root: Path, *, strict: bool = False) -> Grove:
    grove = Grove(root / "project", flaky=True, pause=0.2)
    grove.ideas(**IDEAS)
    grove.beam(options={"beam_width": 3, "max_depth": 2}, retries=1, timeout="6s", strict=strict)
    return grove


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the decision log of an undisturbed run."""
    grove = make(tmp_path_factory.mktemp("undisturbed"))
    grove.call("run", "plan.toml", "--slots", "2")
    check_whole(grove)
    failed = [(task.spec.id, task.error_type) for task in grove.state().tasks if task.phase is TaskPhase.FAILED]
    assert failed[:2] == [("d1-e0004", "agent"), ("d1-e0005", "timeout")]
    assert {why for _, why in failed[2:]} == {"agent"}
    assert len(failed) == 5
    assert grove.promoted()[:4] == ["root", "d1-e0001", "d1-e0002", "d1-e0003"]
    log = grove.decisions()
    grove.end()
    return log


def check_whole(grove: Grove) -> None:
    grove.check_nothing_repeated()
    state = grove.state()
    assert (state.phase, state.end_reason) == (RunPhase.FINISHED, "max_depth")
    assert grove.call("tree", "--validate").code == 0


@pytest.mark.long  # the others resume with other slots
def test_slots_make_no_difference(tmp_path: Path, expected: str) -> None:
    for slots in SLOTS:
        grove = make(tmp_path / str(slots))
        grove.call("run", "plan.toml", "--slots", str(slots))
        check_whole(grove)
        assert grove.decisions() == expected
        grove.end()


def test_killed_at_random_moments_and_resumed_with_other_slots_it_decides_the_same(
    tmp_path: Path, expected: str, *, torture: bool
) -> None:
    chance, kills = random.Random(20261118), 0
    for number in range(7 if torture else 1):
        grove = make(tmp_path / str(number))
        driver = grove.start("run", "plan.toml", "--slots", str(SLOTS[number % 3]))
        wait_for(lambda grove=grove: has_begun(grove), what="the root")  # type: ignore[misc]
        for kill in range(3):
            # The first hits depth 0, while the root is being scored; the others come wherever they do.
            time.sleep(chance.uniform(0.0, 4.0) if kill else chance.uniform(0.0, 0.3))
            driver.kill()
            driver.communicate()
            kills += driver.returncode == -9
            driver = grove.start("resume", "plan", "--slots", str(SLOTS[(number + kill + 1) % 3]))
        assert grove.finish(driver).code == 0
        check_whole(grove)
        assert grove.decisions() == expected
        grove.end()
    assert kills > (10 if torture else 1), "nothing was killed, so nothing was tested"
    print(f"\nbeam: driver killed at {kills} random moments, resumed with other slots: the same decisions")


def test_strict_stops_before_the_next_depth_and_strands_nothing(tmp_path: Path, *, torture: bool) -> None:
    chance = random.Random(7)
    for slots in SLOTS if torture else SLOTS[2:]:
        grove = make(tmp_path / str(slots), strict=True)
        driver = grove.start("run", "plan.toml", "--slots", str(slots))
        wait_for(lambda grove=grove: has_begun(grove), what="the root")  # type: ignore[misc]
        time.sleep(chance.uniform(0.0, 3.0))
        driver.kill()
        driver.communicate()
        grove.call("resume", "plan", "--slots", "2", code=1)
        assert (grove.state().phase, grove.state().stopped) == (RunPhase.FINISHED, True)
        assert grove.promoted() == ["root"]
        assert {task.ask for task in grove.state().tasks} == {0, 1}
        grove.check_nothing_repeated()
        grove.end()


def has_begun(grove: Grove) -> bool:
    try:
        return any(isinstance(event, AttemptStarted) for event in grove.events())
    except (UsageError, StopIteration):  # the store, or the run in it, is being made
        return False
