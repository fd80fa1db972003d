"""`budwood show`: tasks, one task, the decision log."""

from pathlib import Path

import pytest
from tests.support.program import call, golden
from tests.support.told import LANES, Told

from budwood._core.decisions import decision_lines
from budwood._core.events import PlanRevised
from budwood._core.model import TaskSpec


def test_the_tasks_of_a_run_are_a_table(over: Told, terminal: None) -> None:
    ran = call("show", "night", cwd=over.root)
    assert ran.out == golden("""
    TASK    STATE    ATTEMPTS   TIME   COST  LANE  BECAUSE  WHAT
    build   done            1  1.5 s  $0.25                 Build it
    test    failed          2  1.5 s                        ["pytest","-q"]
    deploy  skipped                                test     ./deploy --now
    docs    done            1  1.5 s         web            make docs
    site    done            1  1.5 s         web            make site
    7       done            1  1.5 s                        true
    end     skipped                                test     true
    """)
    assert ran.code == 0


def test_one_task_is_shown_with_its_attempts(over: Told, now: int, terminal: None) -> None:
    assert call("show", "night", "test", cwd=over.root).out == golden(f"""
    test  failed  task 1 of run night, key {over.state.task("test").key}
      command   ["pytest","-q"]
      after     build
      before    deploy

      ATTEMPT  STATE     STARTED   TIME    CPU  MEMORY  ENDED BY
            1  failed  2 min ago  1.5 s  0.2 s  2.4 MB  exit code 3; tried again
            2  failed  2 min ago  1.5 s  0.2 s  2.4 MB  exit code 3
    """)


def test_a_long_error_is_shown_whole(tmp_path: Path, terminal: None) -> None:
    told = Told(tmp_path, [TaskSpec(id="t", run="x")])
    told.start("t")
    message = "a message that says rather a lot about what went wrong, more than a table of eighty columns has room for"
    told.end("t", exit_code=1, message=message)
    told.close()
    out = call("show", "night", "t", cwd=tmp_path).out
    assert out.endswith(f"…\n\n  attempt 1: {message}\n")


def test_json_has_tasks_attempts_and_errors(over: Told) -> None:
    tasks = call("show", "--json", cwd=over.root).json["tasks"]
    assert isinstance(tasks, list)
    assert [task["id"] for task in tasks] == ["build", "test", "deploy", "docs", "site", 7, "end"]
    told = call("show", "night", "test", "--json", cwd=over.root).json
    task, attempts = told["task"], told["attempts"]
    assert isinstance(task, dict)
    assert (task["state"], task["after"], task["before"], task["tries"]) == ("failed", ["build"], ["deploy"], 2)
    assert isinstance(attempts, list)
    assert attempts[0]["error"] == {
        "type": "exit",
        "message": "exit code 3",
        "attempt": 1,
        "max_retries": 1,
        "will_retry": True,
        "timed_out": False,
    }
    assert attempts[0]["queued_at"].endswith("Z")


def test_the_decision_log_has_the_exact_bytes(over: Told) -> None:
    ran = call("show", "--decisions", cwd=over.root)
    assert ran.raw == b"".join(line + b"\n" for line in decision_lines(over.state))
    assert b"at_ms" not in ran.raw


def test_a_task_id_that_is_a_number_is_found_by_its_text(over: Told) -> None:
    assert call("show", "night", "7", cwd=over.root).out.startswith("7  done")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("tset", "run night has no task 'tset'\n\nhint: did you mean test?"),
        ("d", "'d' could be deploy, docs of run night\n\nhint: write more of it"),
        ("xyzzy", "run night has no task 'xyzzy'\n\nhint: budwood show night lists its tasks"),
    ],
)
def test_a_task_that_is_not_there_is_answered_with_help(over: Told, given: str, said: str) -> None:
    ran = call("show", "night", given, cwd=over.root)
    assert (ran.code, ran.err) == (2, f"error: {said}\n")


def test_decisions_are_of_a_whole_run(over: Told) -> None:
    assert call("show", "night", "test", "--decisions", cwd=over.root).code == 2


def test_a_task_that_left_the_plan_stays_readable(night: Told) -> None:
    night.tell(PlanRevised(removed=("end",), lanes=LANES))
    ran = call("show", cwd=night.root)
    assert "no longer in the plan: end" in ran.out
    assert "no longer in the plan" in call("show", "night", "end", cwd=night.root).out
