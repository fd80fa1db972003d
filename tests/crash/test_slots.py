"""Parallel = serial: slots 1, 2 and 8 give the same bytes."""

from pathlib import Path

import msgspec
import pytest
from tests.crash.scenes import thirty
from tests.support.scene import Scene, check_nothing_lost

pytestmark = pytest.mark.crash


def test_slots_one_two_and_eight_decide_the_same(tmp_path: Path) -> None:
    logs = set()
    for slots in (1, 2, 8):
        root = tmp_path / str(slots)
        root.mkdir()
        plain = thirty(root)
        scene = Scene(root, plain.tasks, plain.lanes, settings=msgspec.structs.replace(plain.settings, slots=slots))
        scene.drive()
        check_nothing_lost(scene)
        logs.add(scene.decisions())
    assert len(logs) == 1
