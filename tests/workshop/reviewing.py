"""Agents that leave word outside of their workspaces, and others that review what they made; for tests."""

from pathlib import Path

import pytest
from tests.workshop.site import Site, do, steps

WORK = (
    do("run", command='echo "$BUDWOOD_TASK" >> "$BEGAN"'),
    do("run", command="echo more >> made.txt"),
    do("cost", usd=0.5, tokens=100),
)
COST = do("cost", usd=0.25, tokens=10)


def says(*lines: str, **keys: object) -> dict[str, object]:
    """Make a step that writes a verdict."""
    words = " ".join(f"'{line}'" for line in lines)
    return do("run", command=f"printf '%s\\n' {words} > \"$BUDWOOD_VERDICT\"", **keys)


def script(*each: dict[str, object]) -> dict[str, str]:
    """Let the script agent review."""
    return {"agent": "script", "prompt": steps(*each)}


def plan(site: Site, *tables: str, **keys: object) -> str:
    return site.agents(*tables, **{"env_pass": ["BEGAN"], **keys})  # type: ignore[arg-type]


def errors(site: Site) -> list[str]:
    return ["" if end.error is None else end.error.type for end in site.ends()]


def held(gate: Path) -> dict[str, str]:
    """Review once the test lets it; until then a file tells who reviews."""
    wait = f"echo $PPID $$ >> '{gate}.pids'; until [ -e '{gate}' ]; do sleep 0.02; done"
    return script(do("run", command=wait), says("accept"))


@pytest.fixture
def began(site: Site) -> Path:
    """Give the file in which workers leave word."""
    file = site.root.parent / "began"
    site.env["BEGAN"] = str(file)
    return file
