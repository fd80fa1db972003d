"""How much one client may ask for."""

import pytest

from budwood.errors import MissingExtra
from budwood.mcp.caps import Allowance
from budwood.mcp.opening import need_sdk
from budwood.mcp.tools import TOOLS


def test_what_is_used_up_comes_back_with_time() -> None:
    now_s = 0.0
    allowance = Allowance(2.0, 3.0, now_s=lambda: now_s)
    assert [allowance.take() for _ in range(4)] == [0.0, 0.0, 0.0, 0.5]
    now_s = 0.25
    assert allowance.take() == 0.25
    now_s = 0.5
    assert allowance.take() == 0.0
    now_s = 1000.0
    assert [allowance.take() for _ in range(4)] == [0.0, 0.0, 0.0, 0.5]


def test_there_are_at_most_ten_tools_and_each_has_a_plain_schema() -> None:
    assert len(TOOLS) <= 10
    for tool in TOOLS.values():
        text = str(tool.schema)
        assert tool.schema["type"] == "object"
        assert "$ref" not in text
        assert "null" not in text


def test_without_the_sdk_the_command_that_installs_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("budwood.mcp.opening.find_spec", lambda name: None)
    with pytest.raises(MissingExtra) as caught:
        need_sdk()
    assert caught.value.hint == "pip install 'budwood[mcp]'"
