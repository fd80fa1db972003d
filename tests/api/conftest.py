"""The fixture of the interface's tests: a project of its own, in which nothing is left behind."""

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.api.world import World
from tests.cli.world import wait_for


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """Stand in a new project; afterwards no process and no thread of its runs may be there."""
    before = set(threading.enumerate())
    for name in [name for name in os.environ if name.startswith("BUDWOOD_")]:
        monkeypatch.delenv(name)
    made = World(tmp_path / "project")
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, made.env[name])
    monkeypatch.chdir(made.root)
    try:
        yield made
    finally:
        made.end()
    wait_for(lambda: not _ours(before), what=f"threads to be gone: {_ours(before)}", within_s=10)


def _ours(before: set[threading.Thread]) -> list[str]:
    return [each.name for each in set(threading.enumerate()) - before if each.name.startswith("budwood")]
