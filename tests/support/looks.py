"""Fixtures of tests that look at runs: told runs, a clock that stands, a terminal."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.told import AT_MS, Told, ended, under_way


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> int:
    """Let it be three minutes after the told run began."""
    at_ms = AT_MS + 180_000
    monkeypatch.setattr(time, "time_ns", lambda: at_ms * 1_000_000)
    return at_ms


@pytest.fixture
def night(tmp_path: Path) -> Iterator[Told]:
    """Half a run, driven by somebody."""
    told = under_way(tmp_path)
    yield told
    told.close()


@pytest.fixture
def over(tmp_path: Path) -> Iterator[Told]:
    """A whole run."""
    told = ended(tmp_path)
    yield told
    told.close()


@pytest.fixture
def there(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Another project, still empty."""
    return tmp_path_factory.mktemp("there")


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let output go to a terminal of 80 columns."""
    monkeypatch.setattr("shutil.get_terminal_size", lambda **_: os.terminal_size((80, 24)))
    # text comes last: a module that is first imported while text is changed would keep the change.
    for module in (
        "tables",
        "log_writer",
        "commands.story",
        "commands.plan",
        "commands.doctor",
        "commands.config",
        "text",
    ):
        monkeypatch.setattr(f"budwood.cli.{module}.is_terminal", lambda: True)
    monkeypatch.setattr("budwood.cli.text.has_colour", lambda: False)
