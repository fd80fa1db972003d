"""`budwood why`: the cause of everything that does not move."""

from pathlib import Path

import msgspec
import pytest
from tests.support.program import call, golden
from tests.support.told import LANES, SETTINGS, Told

from budwood._core.events import PlanRevised, RunEnded, RunPaused, RunWaiting, SettingsChanged, TasksCancelled
from budwood._core.model import RunSettings, TaskId, TaskSpec


def kinds(told: Told, *arguments: str) -> list[tuple[str, TaskId | None]]:
    """Ask why, and return the kinds of the reasons and whom they are about."""
    reasons = call("why", "night", *arguments, "--json", cwd=told.root).json["reasons"]
    assert isinstance(reasons, list)
    return [(reason["kind"], reason["task"]) for reason in reasons]


def test_a_blocked_task_names_what_it_waits_for_and_why_that_is_not_done(night: Told, now: int) -> None:
    ran = call("why", "night", "end", cwd=night.root)
    assert ran.out == golden("""
    task end of run night: blocked
      it waits for deploy, site
      test: all 2 slots are taken
      site: another task of lane web is running
    """)
    assert (ran.code, ran.err) == (0, "")
    assert kinds(night, "end") == [("dependencies", None), ("slots", "test"), ("limit", "site")]


def test_a_running_task_says_since_when_and_where(night: Told, now: int) -> None:
    said = call("why", "night", "docs", cwd=night.root).out
    assert "attempt 1 has been running for 2 min 50 s (slot 0, pid 102)" in said


def test_a_task_in_back_off_says_when_it_is_tried_again(night: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time_ns", lambda: (night.state.task("test").not_before_ms - 30_000) * 1_000_000)
    ran = call("why", "night", "test", cwd=night.root)
    assert "it is tried again in 30 s after: exit code 3" in ran.out
    assert "| 1 failed" in ran.out
    assert kinds(night, "test") == [("back-off", None)]


def test_a_failed_task_shows_its_error_and_the_end_of_its_log(over: Told) -> None:
    ran = call("why", "night", "test", cwd=over.root)
    assert ran.out == golden("""
    task test of run night: failed
      it failed: exit code 3 (2 of 2 tries)

      the end of the log:
      | try 102
      | 1 failed
    """)
    assert ran.err == "\nhint: budwood retry night test\n"


def test_a_skipped_task_names_the_one_that_caused_it(over: Told) -> None:
    ran = call("why", "night", "end", cwd=over.root)
    assert "it was skipped because test failed\n  test: it failed: exit code 3" in ran.out
    assert "| 1 failed" in ran.out


def test_limits_are_named(tmp_path: Path) -> None:
    tasks = [
        TaskSpec(id="a", run="x", group="net", cpus=2),
        TaskSpec(id="b", run="x", group="net"),
        TaskSpec(id="c", run="x", cpus=3),
    ]
    told = Told(tmp_path, tasks, settings=RunSettings(slots=9, cpus=4.0))
    told.start("a")
    assert "group net is full (1 at once)" in call("why", "night", "b", cwd=tmp_path).out
    assert "it asks for 3 cpus and 0 gpus; taken are 2 of 4 cpus" in call("why", "night", "c", cwd=tmp_path).out
    told.close()


def test_a_spent_budget_is_named(tmp_path: Path) -> None:
    told = Told(tmp_path, [TaskSpec(id="a", run="x", reserve_usd=4), TaskSpec(id="b", run="x", reserve_usd=2)])
    told.start("a")
    assert kinds(told, "b") == [("budget", None)]
    told.close()


def test_a_paused_run_holds_everything_back(night: Told) -> None:
    night.tell(RunPaused(kind="person", reason="paused by request"))
    ran = call("why", "night", "site", cwd=night.root)
    assert "the run is paused: paused by request" in ran.out
    assert ran.err == "\nhint: budwood resume night\n"
    assert kinds(night)[0] == ("paused", None)


def test_nobody_driving_is_a_reason(night: Told) -> None:
    night.leave()
    assert kinds(night, "site") == [("no-driver", None)]
    assert kinds(night)[0] == ("no-driver", None)


def test_a_waiting_run_says_for_how_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = Told(tmp_path, [TaskSpec(id="a", run="x", retries=1)])
    told.start("a")
    told.end("a", exit_code=1)
    again_ms = told.state.task("a").not_before_ms
    told.tell(RunWaiting(reason="ready tasks in back-off: 1", until_ms=again_ms))
    monkeypatch.setattr("time.time_ns", lambda: (again_ms - 20_000) * 1_000_000)
    assert "the run waits for 20 s more: ready tasks in back-off: 1" in call("why", cwd=tmp_path).out
    told.close()


def test_other_endings_have_reasons_too(night: Told) -> None:
    assert kinds(night, "build") == [("done", None)]
    night.tell(TasksCancelled(tasks=("site",)))
    assert kinds(night, "site") == [("cancelled", None)]
    assert kinds(night, "end") == [("skipped", None), ("cancelled", "site")]
    night.tell(TasksCancelled(tasks=("docs",)))
    assert kinds(night, "docs") == [("cancelling", None)]
    night.tell(PlanRevised(removed=("end",), lanes=LANES))
    assert kinds(night, "end") == [("removed", None)]


def test_a_task_that_nothing_holds_back_is_next(night: Told) -> None:
    more = msgspec.structs.replace(SETTINGS, slots=8)
    night.tell(SettingsChanged(settings=more, changed=("slots",)))
    assert kinds(night, "test")[0][0] in ("next", "back-off")


def test_a_run_says_what_runs_and_what_is_held_back(night: Told, now: int) -> None:
    assert kinds(night) == [("running", "docs"), ("running", 7), ("slots", "test"), ("limit", "site")]


def test_a_run_that_ended_says_what_failed(over: Told) -> None:
    ran = call("why", cwd=over.root)
    assert ran.out == "run night: finished\n  test: it failed: exit code 3 (2 of 2 tries)\n"
    assert ran.err == "\nhint: budwood retry night\n"


def test_a_run_that_went_well_says_so(tmp_path: Path) -> None:
    told = Told(tmp_path, [TaskSpec(id="a", run="x")])
    told.done("a")
    told.tell(RunEnded())
    told.close()
    assert call("why", cwd=tmp_path).out == "run night: finished\n  it has ended: 1 of 1 tasks are done\n"


@pytest.mark.parametrize(
    ("reason", "flag"),
    [
        ("budget spent: $5.00 of $5.00", "--budget-usd N"),
        ("budget spent: 3 of 3 attempts", "--max-attempts N"),
        ("budget spent: 900 of 900 tokens", "--budget-tokens N"),
        ("budget spent: 2 h of 2 h of time", "--budget-time TIME"),
    ],
)
def test_a_spent_budget_is_answered_with_the_flag_that_raises_it(night: Told, reason: str, flag: str) -> None:
    night.tell(RunPaused(kind="budget", reason=reason))
    for words in ((), ("site",)):
        assert call("why", "night", *words, cwd=night.root).err == f"\nhint: budwood resume night {flag}\n"
