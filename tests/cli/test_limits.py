"""Limits that a user writes down reach the attempts: through the real program, from the file to the process."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from budwood.stores import open_store

pytestmark = pytest.mark.slow


def run(root: Path, plan: str) -> tuple[int, float]:
    """Run a plan as a user does; return the exit code and how long it took by its events, starts of programs apart."""
    (root / "plan.toml").write_text(plan)
    environ = {**os.environ, "XDG_STATE_HOME": str(root / "state"), "XDG_CONFIG_HOME": str(root / "config")}
    command = [sys.executable, "-m", "budwood", "run", "plan.toml"]
    ran = subprocess.run(command, cwd=root, env=environ, capture_output=True, timeout=60, check=False)
    with open_store(root / ".budwood" / "store.db", create=False) as store:
        [row] = store.runs()
        times = [recorded.at_ms for recorded in store.read(row.id)]
    return ran.returncode, (times[-1] - times[0]) / 1000


def test_machine_slots_hold_attempts_of_one_machine_apart(tmp_path: Path) -> None:
    (tmp_path / "budwood.toml").write_text("[machine]\nmachine_slots = 1\n")
    tasks = "".join(f'[[task]]\nid = {n}\nrun = "echo + >> trace; sleep 0.2; echo - >> trace"\n' for n in range(3))
    assert run(tmp_path, f"[run]\nslots = 3\n{tasks}")[0] == 0
    assert (tmp_path / "trace").read_text().split() == ["+", "-"] * 3


@pytest.mark.parametrize(("grace", "least_s", "most_s"), [("100ms", 0.0, 2.5), ("3s", 3.0, 20.0)])
def test_grace_is_the_time_between_term_and_kill(tmp_path: Path, grace: str, least_s: float, most_s: float) -> None:
    (tmp_path / "budwood.toml").touch()
    task = """[[task]]\nid = 1\ntimeout = "100ms"\nrun = "trap '' TERM; sleep 30 & wait; wait"\n"""
    plan = f'[run]\ngrace = "{grace}"\n{task}'
    code, took_s = run(tmp_path, plan)
    assert code == 1
    assert least_s < took_s < most_s


@pytest.mark.parametrize(("backoff", "least_s", "most_s"), [("10ms", 0.0, 1.4), ("3s", 1.5, 20.0)])
def test_backoff_is_waited_for(tmp_path: Path, backoff: str, least_s: float, most_s: float) -> None:
    (tmp_path / "budwood.toml").touch()
    task = '[[task]]\nid = 1\nretries = 1\nrun = "test $BUDWOOD_ATTEMPT = 2"\n'
    code, took_s = run(tmp_path, f'[run]\nbackoff = "{backoff}"\n{task}')
    assert code == 0
    assert least_s < took_s < most_s


def test_budget_time_pauses_the_run(tmp_path: Path) -> None:
    (tmp_path / "budwood.toml").touch()
    tasks = "".join(f'[[task]]\nid = {n}\nrun = "sleep 1"\n' for n in range(4))
    code, took_s = run(tmp_path, f'[run]\nslots = 1\nbudget_time = "1500ms"\n{tasks}')
    assert code == 3
    assert took_s < 3.5


def test_contain_namespace_gives_an_attempt_processes_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "budwood.toml").touch()
    task = '[[task]]\nid = 1\nrun = "readlink /proc/self/ns/pid > seen"\n'
    assert run(tmp_path, f'[run]\ncontain = "namespace"\n{task}')[0] == 0
    assert (tmp_path / "seen").read_text().strip() != os.readlink("/proc/self/ns/pid")
