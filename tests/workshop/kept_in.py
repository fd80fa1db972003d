"""A repository whose runs are in a sandbox, a real one, and the words to write them with."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.workshop.site import Site, do, task

from budwood._core.events import AttemptEnded
from budwood._core.model import AttemptPhase

KEY = "sk-lies-in-the-home-directory"
MADE = do("write", path="made.txt", text="made\n")


@pytest.fixture
def box(site: Site, bwrap: Path) -> Iterator[Site]:
    """Give a site whose PATH has bwrap, with a key at home and things that are linked."""
    site.env["PATH"] = f"{bwrap}:{site.env['PATH']}"
    (site.home / ".ssh").mkdir()
    (site.home / ".ssh" / "id_ed25519").write_text(KEY)
    (site.home / ".netrc").write_text(KEY)
    (site.root / "ignored" / "modules").mkdir()
    (site.root / "ignored" / "modules" / "lib.js").write_text("linked\n")
    before = _but_plans(site.belongings())
    yield site
    assert _but_plans(site.belongings()) == before


def _but_plans(belongings: dict[str, str]) -> dict[str, str]:
    return {name: each for name, each in belongings.items() if not name.endswith(".toml")}


def kept_in(site: Site, *tables: str, **keys: object) -> None:
    """Write a plan whose attempts are in a sandbox."""
    site.agents(*tables, **{"sandbox": "bwrap", **keys})  # type: ignore[arg-type]


def sh(name: str, command: str, **keys: object) -> str:
    """Write a task whose agent gives a command, whatever becomes of that."""
    return task(name, (MADE, do("run", command=f"({command}) 2>&1; echo")), **keys)


def end(site: Site, name: str = "a") -> AttemptEnded:
    """Return how a task's only attempt ended, which must have succeeded."""
    found = site.end_of(name)
    assert found.phase is AttemptPhase.SUCCEEDED, (found.error, site.log_of(name))
    return found


def command(name: str, run: str, **keys: object) -> str:
    """Write a task that is a command."""
    lines = [f"[[task]]\nid = {name!r}\nrun = {json.dumps(run)}\n"]
    return "".join((*lines, *(f"{key} = {json.dumps(value)}\n" for key, value in keys.items())))
