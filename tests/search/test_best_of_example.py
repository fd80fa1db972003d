"""The example of best-of: two attempts put together are better than each, and nothing of that is in its files."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.docs.pages import ROOT


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_example_ends_well(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "examples/best_of/best_of.py"), str(tmp_path / "played")]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    answers = ran.stdout.partition("Is that so?\n")[2]
    assert answers.count("  yes  ") == 3
    assert "NO " not in answers
