"""`budwood status` and `budwood watch`."""

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from tests.support.program import call, golden
from tests.support.told import Told

from budwood._core.events import RunEnded, RunPaused
from budwood._core.model import TaskSpec
from budwood.stores import Store


def test_a_run_fits_on_one_screen(night: Told, now: int, terminal: None) -> None:
    ran = call("status", cwd=night.root)
    assert ran.out == golden("""
    night  active  n1ght00000
      goal      Ship it
      driver    pid 4242 on host
      tasks     1 of 7 done, 2 blocked, 2 ready, 2 active
      slots     2 of 2 taken
      attempts  4
      cost      $0.25 of $5.00, $4.75 left
      driven    2 min 58 s
      created   2 min ago
      plan      /plans/night.toml

    running
      TASK  ATTEMPT  SLOT  PID         FOR
      docs        1     0  102  2 min 50 s
      7           1     1  103  2 min 48 s

    ready
      TASK  WHY
      test  all 2 slots are taken
      site  another task of lane web is running
    """)
    assert (ran.code, ran.err) == (0, "")


def test_json_tells_the_same(night: Told, now: int) -> None:
    told = call("status", "night", "--json", cwd=night.root).json
    assert told["counts"] == {
        "blocked": 2,
        "ready": 2,
        "active": 2,
        "done": 1,
        "failed": 0,
        "cancelled": 0,
        "skipped": 0,
    }
    assert told["slots"] == {"total": 2, "busy": 2}
    running = told["running"]
    assert isinstance(running, list)
    assert running[0] == {
        "task": "docs",
        "attempt": 1,
        "state": "running",
        "slot": 0,
        "pid": 102,
        "started_at": "2026-09-21T14:13:30.000Z",
        "elapsed_s": 170.0,
        "question": None,
        "progress": None,
        "found": None,
    }
    assert told["waiting"] == [
        {"task": "test", "reason": "all 2 slots are taken"},
        {"task": "site", "reason": "another task of lane web is running"},
    ]
    assert told["budget"] == {
        "usd": {"limit": 5.0, "spent": 0.25, "reserved": 0.0, "left": 4.75},
        "tokens": {"limit": None, "spent": 0, "reserved": 0, "left": None},
        "attempts": {"limit": None, "spent": 4, "reserved": 0, "left": None},
        "time_s": {"limit": None, "spent": 178.0, "reserved": 0, "left": None},
    }
    assert told["next"] is None


def test_a_paused_run_says_why_and_what_to_do(night: Told) -> None:
    night.tell(RunPaused(kind="budget", reason="budget spent: $5.00 of $5.00"))
    ran = call("status", cwd=night.root)
    assert "  because   budget spent: $5.00 of $5.00\n" in ran.out
    assert ran.err == "\nhint: budwood resume night --budget-usd N\n"
    assert "  night: paused: budget spent: $5.00 of $5.00; budwood resume night --budget-usd N\n" in (
        call(cwd=night.root).out
    )


def test_a_run_without_a_driver_says_so(night: Told) -> None:
    night.leave()
    ran = call("status", cwd=night.root)
    assert "  driver    none\n" in ran.out
    assert "nobody drives the run" in ran.out
    assert ran.err == "\nhint: budwood resume night\n"


def test_failures_are_listed_with_their_errors(over: Told) -> None:
    ran = call("status", cwd=over.root)
    assert "failed\n  TASK  WHY\n  test  exit code 3\n" in ran.out
    assert ran.err == "\nhint: budwood why night\n"


def test_long_lists_are_cut_and_counted(tmp_path: Path) -> None:
    told = Told(tmp_path, [TaskSpec(id=f"t{n}", run="true") for n in range(100)])
    assert "  and 95 more\n" in call("status", cwd=tmp_path).out
    waiting = call("status", "--json", cwd=tmp_path).json["waiting"]
    assert isinstance(waiting, list)
    assert len(waiting) == 20
    told.close()


@pytest.mark.parametrize("given", ["night", "nig", "n1ght00000", "n1", "last"])
def test_a_run_is_found_by_name_id_prefix_or_as_the_last(night: Told, given: str) -> None:
    assert call("status", given, cwd=night.root).out.startswith("night  active")


def test_a_near_miss_is_answered_with_the_name(night: Told) -> None:
    ran = call("status", "nigth", cwd=night.root)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "error: there is no run 'nigth'\n\nhint: did you mean night?\n"


class TestWatch:
    def test_a_run_that_has_ended_gives_its_verdict_and_exit_code(self, over: Told) -> None:
        ran = call("watch", cwd=over.root)
        assert ran.code == 1
        assert ran.err.startswith("night: 4 done, 1 failed, 2 skipped of 7")

    def test_a_run_without_a_driver_is_not_waited_for(self, night: Told) -> None:
        night.leave()
        ran = call("watch", cwd=night.root)
        assert ran.code == 4
        assert "hint: budwood resume night" in ran.err

    def test_every_event_can_be_had_as_json(self, over: Told) -> None:
        lines = call("watch", "--jsonl", cwd=over.root).out.splitlines()
        assert lines == call("story", "--json", cwd=over.root).out.splitlines()
        assert call("watch", "--jsonl", "--after", "5", cwd=over.root).out.splitlines() == lines[5:]

    def test_what_happens_meanwhile_is_shown_until_the_run_rests(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        told = Told(tmp_path, [TaskSpec(id="one", run="true"), TaskSpec(id="two", run="true")])
        steps: list[Callable[[], None]] = [
            lambda: told.done("one"),
            lambda: told.done("two"),
            lambda: told.tell(RunEnded()),
            lambda: None,
        ]

        def wait(_: Store, run: str, *, after: int, timeout_s: float) -> bool:
            steps.pop(0)()
            return True

        monkeypatch.setattr("budwood.stores.base.Store.wait", wait)
        monkeypatch.setattr("budwood.cli.commands.watch.sleep", lambda seconds: None)
        ran = call("watch", cwd=tmp_path)
        assert ran.code == 0
        assert [line.split()[:3] for line in ran.err.splitlines()[:2]] == [
            ["done", "1/2", "one"],
            ["done", "2/2", "two"],
        ]
        told.close()

    def test_ctrl_c_leaves_the_run_alone(self, night: Told) -> None:
        command = [sys.executable, "-m", "budwood", "watch", "--jsonl"]
        with subprocess.Popen(command, cwd=night.root, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            assert process.stdout is not None
            events = [msgspec.json.decode(process.stdout.readline()) for _ in range(night.state.number)]
            assert events[-1]["number"] == night.state.number
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=20)
        assert process.returncode == 130
        assert err == b"left; run night goes on\n"
        night.tell(RunPaused(kind="person", reason="its lease is untouched"))
