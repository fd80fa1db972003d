"""Completion in shells: commands, options, runs and tasks; never an error, whatever the store is like."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.program import call
from tests.support.told import Told


def complete(words: str, *, cwd: Path) -> list[str]:
    """Ask as bash does for what could stand in the place of the last word."""
    typed = words.split(" ")
    environment = {
        **os.environ,
        "_BUDWOOD_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(typed) - 1),
        "XDG_CONFIG_HOME": "/nonexistent",
    }
    code = "import sys; sys.argv = ['budwood']; from budwood.cli import main; main()"
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=cwd, env=environment, capture_output=True, text=True, timeout=30, check=True
    )
    assert ran.stderr == ""
    return [line.partition(",")[2] for line in ran.stdout.splitlines() if line]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_gets_its_script(tmp_path: Path, shell: str) -> None:
    ran = call("completion", shell, cwd=tmp_path)
    assert (ran.code, ran.err) == (0, "")
    assert "_BUDWOOD_COMPLETE" in ran.out
    assert f"{shell}_complete" in ran.out


def test_bash_accepts_the_script(tmp_path: Path) -> None:
    script = call("completion", "bash", cwd=tmp_path).raw
    subprocess.run(["bash", "-n"], input=script, check=True, timeout=30)


def test_an_unknown_shell_is_an_error(tmp_path: Path) -> None:
    ran = call("completion", "tcsh", cwd=tmp_path)
    assert ran.code == 2
    assert "'bash', 'zsh', 'fish'" in ran.err


def test_runs_and_tasks_come_from_the_store(night: Told) -> None:
    assert complete("budwood status ", cwd=night.root) == ["night", "last"]
    assert complete("budwood why n", cwd=night.root) == ["night"]
    assert complete("budwood logs night d", cwd=night.root) == ["deploy", "docs"]
    assert "build" in complete("budwood show last ", cwd=night.root)


def test_commands_are_completed(tmp_path: Path) -> None:
    assert sorted(complete("budwood sto", cwd=tmp_path)) == ["store", "story"]


def test_without_a_store_nothing_is_offered_and_nothing_made(tmp_path: Path) -> None:
    assert complete("budwood status ", cwd=tmp_path) == []
    assert complete("budwood logs night ", cwd=tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_store_offers_nothing(tmp_path: Path) -> None:
    (tmp_path / ".budwood").mkdir()
    (tmp_path / ".budwood" / "store.db").write_bytes(b"broken " * 1000)
    assert complete("budwood status ", cwd=tmp_path) == []


def test_wrong_settings_offer_nothing(night: Told) -> None:
    (night.root / "budwood.toml").write_text("[run]\nslotz = 1\n")
    assert complete("budwood status ", cwd=night.root) == []
