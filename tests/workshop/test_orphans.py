"""The driver killed while its git works: the next one waits for that git, or removes what a dead one left."""

import os
import shutil
import signal
from pathlib import Path

import pytest
from tests.cli.world import wait_for
from tests.support.cases import at_length
from tests.workshop.site import Site, do, task

from budwood._core.model import AttemptPhase

pytestmark = [pytest.mark.crash, pytest.mark.timeout(120)]
GIT = """#!/bin/sh
case " $* " in *" $STOP_AT "*)
  if mkdir "$STOPPED" 2>/dev/null; then
    [ -z "$GIT_INDEX_FILE" ] || touch "$GIT_INDEX_FILE.lock"
    echo $$ > "$STOPPED/pid.new"; mv "$STOPPED/pid.new" "$STOPPED/pid"
    [ "$STOP_FOR" = ever ] && exec sleep 600
    sleep "$STOP_FOR"
    [ -z "$GIT_INDEX_FILE" ] || rm -f "$GIT_INDEX_FILE.lock"
  fi
esac
exec {git} "$@"
"""
"""Git, which stops once in the middle of a command, as if there was much to do; it holds a lock on its index then."""
PREPARING = ("init", "read-tree")
KEEPING = ("unpack-objects", "commit-tree", "update-ref")
CONVERTING = ("update-index", "add", "write-tree")
"""What keeps files where a repository says how they are converted."""


def _stop(site: Site, *, at: str, seconds: str) -> int:
    """Run until git stops, kill the driver, and return the process that goes on without it."""
    if at in CONVERTING:
        (site.root / ".gitattributes").write_text("*.txt text=auto\n")
        site.git("add", ".gitattributes")
        site.git("commit", "-qm", "attributes", "--", ".gitattributes")
    programs, stopped = site.root.parent / "programs", site.root.parent / "stopped"
    programs.mkdir()
    (programs / "git").write_text(GIT.replace("{git}", shutil.which("git") or "git"))
    (programs / "git").chmod(0o755)
    site.agents(task("a", (do("read", path="README.md"), do("write", path="made.txt", text="made\n"))), slots=1)
    site.env |= {"STOP_AT": at, "STOPPED": str(stopped), "STOP_FOR": seconds}
    driver = site.start("run", "plan.toml", env={"PATH": f"{programs}:{site.env['PATH']}"})
    wait_for((stopped / "pid").exists, what=f"git {at} to stop")
    driver.kill()
    driver.communicate()
    return int((stopped / "pid").read_text())


def _check(site: Site) -> None:
    site.call("run", "plan.toml")
    [end] = site.ends()
    assert (end.attempt, end.phase) == (1, AttemptPhase.SUCCEEDED)
    assert site.restored(end)["made.txt"] == b"made\n"
    assert list(site.pool.glob("*/shut.json")) == []
    assert list(site.pool.glob("*/lease.json")) == []


@pytest.mark.parametrize("at", [PREPARING[0], KEEPING[0], *at_length(*PREPARING[1:], *KEEPING[1:], *CONVERTING)])
def test_a_git_that_outlives_its_driver_is_waited_for(site: Site, at: str) -> None:
    _stop(site, at=at, seconds="1.5")
    _check(site)


@pytest.mark.parametrize("at", ["update-index", *at_length("read-tree", "add")])
def test_what_a_killed_git_locked_is_unlocked(site: Site, at: str) -> None:
    pid = _stop(site, at=at, seconds="ever")
    os.kill(pid, signal.SIGKILL)
    _check(site)


def test_a_ref_that_a_killed_git_locked_long_ago_is_unlocked(site: Site) -> None:
    site.agents(task("a", (do("write", path="made.txt", text="made\n"),)))
    site.call("run", "plan.toml")
    left = site.end_of("a").left
    assert left is not None
    lock = Path(site.root, ".git", f"{left.ref}.lock")
    lock.touch()
    os.utime(lock, (1, 1))
    site.repository.set_ref(left.ref, left.commit)
    assert not lock.exists()
