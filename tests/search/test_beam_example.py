"""The example of beam: the score becomes better at every depth, through a kill, and the record holds."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.docs.pages import ROOT


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_example_ends_well(tmp_path: Path) -> None:
    command: list[str] = [sys.executable, str(ROOT / "examples/beam/beam.py"), str(tmp_path / "played")]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=540, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    answers = ran.stdout.partition("Is that so?\n")[2]
    assert answers.count("  yes  ") == 2
    assert "NO " not in answers
