"""Coming from YokeFlow: every row of that page has a trial of what it promises, and every trial a row."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.docs.trials import named
from tests.docs.yokeflow import flags, keys, python, worktrees
from tests.docs.yokeflow.ground import TRIALS, Ground, Shared, make_night

import budwood

CHAPTERS = (flags, keys, python, worktrees)
"""Imported for the trials that they register."""
SPEND = """echo '{"cost_usd": 0.0625}' > "$BUDWOOD_USAGE" """
EDGES: dict[int, tuple[int, list[int]]] = {
    1: (1, []),
    2: (1, [1]),
    3: (1, [2]),
    4: (2, [2]),
    5: (2, [3, 4]),
    6: (3, []),
    7: (3, [3]),
}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shared]:
    """Do the tasks of the guide once with agents, once with commands."""
    folder = tmp_path_factory.mktemp("guide")
    (folder / "of").mkdir()
    night = make_night(folder / "of" / "night")
    heard: list[dict[str, object]] = []
    tasks = [budwood.command(SPEND, id=task, lane=epic, after=after) for task, (epic, after) in EDGES.items()]
    tell = budwood.yokeflow_callback(heard.append)
    guide = budwood.start(tasks, name="guide", directory=folder, slots=3, on_event=tell)
    assert guide.wait().exit_code == 0
    assert guide.callback_error is None
    yield Shared(night, guide, heard)
    night.end()


@pytest.fixture
def ground(tmp_path: Path, shared: Shared, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ground]:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "home" / "state"))
    folder = tmp_path / "here"
    folder.mkdir()
    (folder / "budwood.toml").touch()
    made = Ground(folder, shared)
    try:
        yield made
    finally:
        made.end()


def test_every_row_has_a_trial_and_every_trial_a_row() -> None:
    assert CHAPTERS
    TRIALS.check_whole()


@pytest.mark.slow
@pytest.mark.timeout(180)
@pytest.mark.parametrize("trial", TRIALS.all, ids=named)
def test_what_a_row_promises_is_so(trial: Callable[[Ground], None], ground: Ground) -> None:
    trial(ground)
