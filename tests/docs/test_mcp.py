"""The page on MCP has every tool, with its words, its arguments and their defaults, and the bounds that hold."""

import re

import msgspec
import pytest
from tests.docs.pages import ROOT

from budwood.engine.wanted import TEXT_CHARS, TITLE_CHARS
from budwood.mcp import caps
from budwood.mcp.tools import TOOLS, Tool

PAGE = (ROOT / "docs/reference/mcp.md").read_text(encoding="utf-8")


def entry(name: str) -> str:
    _, found, rest = PAGE.partition(f"\n### `{name}`\n")
    assert found, f"no heading for {name}"
    return re.split(r"\n#{2,3} ", rest)[0]


@pytest.mark.parametrize("tool", TOOLS.values(), ids=TOOLS)
def test_every_tool_has_an_entry_with_its_arguments(tool: Tool) -> None:
    text = entry(tool.name)
    assert f"\n{tool.doc}\n" in text
    told = dict(re.findall(r"^\| `(\w+)` \| (.*?) \| .+ \|$", text, re.MULTILINE))
    fields = {field.name: field for field in msgspec.structs.fields(tool.takes)}
    assert list(told) == list(fields)
    for name, field in fields.items():
        if field.default not in (msgspec.NODEFAULT, None):
            assert told[name] == f"`{msgspec.json.encode(field.default).decode()}`"
        assert (told[name] == "required") == field.required


def test_no_heading_names_a_tool_that_is_none() -> None:
    assert re.findall(r"^### `(.*)`$", PAGE, re.MULTILINE) == list(TOOLS)


def test_the_bounds_are_those_that_hold() -> None:
    assert f"{caps.CALLS_PER_S:.0f} in a second, {caps.CALLS_BURST:.0f} at once" in PAGE
    assert f"{caps.WRITES_PER_S:.0f} in a second, {caps.WRITES_BURST:.0f} at once" in PAGE
    assert caps.MESSAGE_BYTES == 1_000_000
    assert f"| {TITLE_CHARS} characters |" in PAGE
    assert f"| {TEXT_CHARS:,} characters |" in PAGE
