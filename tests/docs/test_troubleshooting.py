"""Troubles and cures: what the tables of that page say that budwood says is what it says, in that trouble.

Its samples are tried with those of all pages.
"""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.agents.starting import FAKES
from tests.cli.world import HELD
from tests.cli.world import task as command
from tests.docs.pages import ROOT
from tests.workshop.site import Site, do, task

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]
PAGE = (ROOT / "docs/how-to/troubleshooting.md").read_text(encoding="utf-8")
MESSAGES = re.findall(r"^\| `([^`]+)` \|", PAGE, re.MULTILINE)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """A repository, with agents that speak as the real ones do."""
    made = Site(tmp_path / "project")
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "python3").write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n')
    (programs / "python3").chmod(0o755)
    made.env["PATH"] = f"{FAKES}:{programs}:{made.env['PATH']}"
    made.env["PYTHONDONTWRITEBYTECODE"] = "1"
    try:
        yield made
    finally:
        made.end()


def began(site: Site) -> subprocess.Popen[str]:
    site.plan(command("a", HELD))
    driver = site.start("run", "plan.toml")
    site.wait_began("a")
    return driver


def driven(site: Site) -> str:
    driver = began(site)
    said = site.call("run", "plan.toml", code=2).err
    (site.root / "go").touch()
    assert site.finish(driver).code == 0
    return said


def killed(site: Site) -> str:
    driver = began(site)
    os.kill(driver.pid, signal.SIGKILL)
    driver.communicate()
    said = site.call().out
    (site.root / "go").touch()
    assert "1 done" in site.call("resume", "plan").err
    return said


def claude(site: Site, behaviour: str, *, code: int) -> str:
    site.agents(task("a", f"{behaviour}\nmakes: made.txt\n"), agent="claude")
    return site.call("run", "plan.toml", code=code).err


def too_large(site: Site) -> str:
    huge = do("run", command="truncate -s 300M huge.bin; echo a > a.txt")
    site.agents(task("a", (huge,)))
    said = site.call("run", "plan.toml").err
    assert "what is in it is kept nowhere else: it holds what is too large to be kept: huge.bin" in site.call("gc").out
    return said


def nobody(site: Site) -> str:
    site.plan(task("a", "Write it."))
    return site.call("run", "plan.toml", code=2).err


def unpaid(site: Site) -> str:
    site.plan("[run]\nagent = 'claude'\n", task("a", "Write it."))
    return site.call("run", "plan.toml", code=2, env={"ANTHROPIC_API_KEY": "a-key-of-nobody"}).err


def dirty(site: Site) -> str:
    site.agents(task("a", (do("write", path="a.txt", text="a"),)))
    return site.call("run", "plan.toml").err


TROUBLES: dict[str, Callable[[Site], str]] = {
    "error: run … is already driven by pid … on …": driven,
    "nobody drives it; budwood resume …": killed,
    "paused (task …: Failed to authenticate": lambda site: claude(site, "behave: auth", code=4),
    "waiting  at its limit: …; ready tasks: …; next try in …": lambda site: claude(
        site, "first: limit-soon behave: ok", code=0
    ),
    'hint: agent = "claude" in [run], or --agent claude, names one for all': nobody,
    "error: its agents cost money, and there is no budget_usd": unpaid,
    "left what could not be kept: …": too_large,
    "your checkout has … uncommitted file": dirty,
}
"""By message, what brings it about; returns what was said."""


def test_every_message_of_the_page_is_tried() -> None:
    assert set(MESSAGES) == set(TROUBLES)


@pytest.mark.parametrize("message", TROUBLES)
def test_that_is_what_is_said(message: str, site: Site) -> None:
    said = TROUBLES[message](site)
    assert re.search(".*?".join(map(re.escape, message.split("…"))), said), said
