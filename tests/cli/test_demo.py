"""`budwood demo`: killed and resumed before the viewer's eyes."""

import pytest
from tests.cli.world import Budwood


@pytest.mark.slow
def test_the_demonstration_holds_and_cleans_up(budwood: Budwood) -> None:
    folder = budwood.root / "tmp"
    folder.mkdir()
    said = budwood.call("demo", env={"TMPDIR": str(folder)})
    assert "kill -9" in said.out
    assert said.out.count("\n  yes  ") == 7
    assert "\n  NO " not in said.out
    assert "Nothing was lost, nothing was done twice." in said.out
    assert "budwood init" in said.out
    assert list(folder.iterdir()) == []
