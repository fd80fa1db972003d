"""How these tests run one thing and look at it: a scene with a few tasks, its attempts and what they printed."""

import time
from collections.abc import Callable
from pathlib import Path

import msgspec
from tests.support.scene import Scene, survivors

from budwood._core.model import RunSettings, TaskSpec
from budwood._core.rows import AttemptRow
from budwood.engine.verdict import Verdict

SETTINGS = RunSettings(slots=1, seed=7, backoff_s=0.01, grace_s=0.5)
PYTHON = "python3"


def ran(root: Path, *tasks: TaskSpec, settings: RunSettings = SETTINGS, **changes: object) -> tuple[Scene, Verdict]:
    """Drive tasks to the end; nothing of them may be left."""
    scene = Scene(root, tasks, settings=msgspec.structs.replace(settings, **changes))
    verdict = scene.drive()
    assert survivors(scene) == []
    return scene, verdict


def attempts_of(scene: Scene) -> list[AttemptRow]:
    """List what the store says of all attempts."""
    with scene.store() as store:
        return store.attempts(scene.run_id)


def printed(scene: Scene, number: int = 0, attempt: int = 1) -> bytes:
    """Return what an attempt printed."""
    with scene.store() as store:
        return store.log(scene.run_id, number, attempt) or b""


def only(scene: Scene) -> AttemptRow:
    """Return the one attempt there was."""
    [attempt] = attempts_of(scene)
    return attempt


def wait_for(condition: Callable[[], object], *, within_s: float = 30.0) -> None:
    """Look again and again until something is so."""
    deadline = time.monotonic() + within_s
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"it did not come to that within {within_s} s")
        time.sleep(0.005)
