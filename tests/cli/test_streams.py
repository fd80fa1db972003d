"""Standard streams that are closed or on a full disk: a run goes on, a command that only reads says what is wrong."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.world import HELD, Budwood, task
from tests.support.cases import at_length
from tests.support.told import Told

from budwood._core.model import TaskPhase

pytestmark = pytest.mark.slow


def shell(budwood: Budwood, command: str, *, cwd: Path | None = None) -> "subprocess.CompletedProcess[str]":
    """Give a command line to a shell, `budwood` in it being the program."""
    return subprocess.run(
        ["sh", "-c", f'budwood() {{ "{sys.executable}" -m budwood "$@"; }}; {command}'],
        cwd=cwd or budwood.root,
        env=budwood.env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    "words",
    [
        "run plan.toml 2>&-",
        "run plan.toml >&-",
        "run plan.toml <&- >&- 2>&-",
        "run plan.toml 2>/dev/full",
        "run plan.toml --jsonl 2>&-",
        "run plan.toml --jsonl >&-",
        "run plan.toml --jsonl >/dev/full",
        "run plan.toml --jsonl >/dev/full 2>/dev/full",
    ],
)
def test_a_run_goes_on_whoever_hears_of_it(budwood: Budwood, words: str) -> None:
    budwood.plan(task("a"), task("b", after=["a"]))
    ran = shell(budwood, f"budwood {words}")
    assert ran.returncode == 0, ran.stderr
    assert "Traceback" not in ran.stderr
    assert budwood.state().counts[TaskPhase.DONE] == 2
    assert budwood.events()[-1].__class__.__name__ == "DriverStopped"


@pytest.mark.parametrize(("where", "why"), [(">&-", "Bad file descriptor"), (">/dev/full", "No space left on device")])
def test_a_stream_that_cannot_be_written_is_one_warning(budwood: Budwood, where: str, why: str) -> None:
    budwood.plan(task("a"))
    ran = shell(budwood, f"budwood run plan.toml --jsonl {where}")
    assert f"warning: standard output cannot be written: {why}\nplan: 1 done in" in ran.stderr
    assert ran.stderr.count("cannot be written") == 1


READERS = ("", "--help", "status", "logs", "export --jsonl")
OTHER_READERS = (
    "ls",
    "show",
    "show --decisions",
    "story",
    "story --json",
    "why",
    "ls --json",
    "export --csv",
    "config show",
    "run --help",
    "plan show plan.toml",
    "store export night",
)


@pytest.mark.parametrize("words", [*READERS, *at_length(*OTHER_READERS)])
def test_a_command_that_reads_says_that_nobody_hears(budwood: Budwood, over: Told, words: str) -> None:
    (over.root / "plan.toml").write_text(task("a"))
    for where, why in ((">&-", "Bad file descriptor"), (">/dev/full", "No space left on device")):
        ran = shell(budwood, f"budwood {words} {where}", cwd=over.root)
        assert ran.stderr == f"error: standard output cannot be written: {why}\n\nhint: write it to another place\n"
        assert ran.returncode == 4
    assert shell(budwood, f"budwood {words} | true", cwd=over.root).stderr == ""
    assert shell(budwood, f"budwood {words} >/dev/full 2>&-; echo $?", cwd=over.root).stdout == "4\n"


@pytest.mark.parametrize("words", ["ls", "status", "why"])
def test_data_is_written_though_nobody_hears_the_rest(budwood: Budwood, over: Told, words: str) -> None:
    whole = shell(budwood, f"budwood {words}", cwd=over.root)
    for where in ("2>&-", "2>/dev/full"):
        ran = shell(budwood, f"budwood {words} {where}", cwd=over.root)
        assert (ran.returncode, ran.stdout) == (0, whole.stdout)


def test_no_file_of_ours_gets_the_number_of_a_closed_stream(budwood: Budwood) -> None:
    budwood.plan(task("a", HELD))
    process = subprocess.Popen(
        ["sh", "-c", f'exec "{sys.executable}" -m budwood run plan.toml <&- >&- 2>&-'],
        cwd=budwood.root,
        env=budwood.env,
    )
    budwood.wait_began("a")
    assert [os.readlink(f"/proc/{process.pid}/fd/{fd}") for fd in range(3)] == ["/dev/null"] * 3
    budwood.let_go()
    assert process.wait(30) == 0


def test_watch_leaves_when_nobody_reads_its_stream(budwood: Budwood, night: Told) -> None:
    ran = shell(budwood, "budwood watch night --jsonl >/dev/full", cwd=night.root)
    assert (ran.returncode, ran.stderr) == (
        4,
        "warning: standard output cannot be written: No space left on device\n",
    )
