"""`budwood run`: from a file to a verdict."""

import json
import os

import pytest
from tests.cli.world import HELD, Budwood, task

from budwood import __version__
from budwood._core.model import TaskPhase
from budwood.stores import open_store


def test_all_done_is_exit_0_and_the_verdict_comes_last(budwood: Budwood) -> None:
    budwood.plan(task("a"), task("b", after=["a"]))
    said = budwood.call("run", "plan.toml")
    assert said.out == ""
    assert said.err.splitlines()[-1].startswith("plan: 2 done in ")
    assert budwood.lines("did-b") == ["did"]


def test_a_failure_is_exit_1_names_the_reason_and_what_to_do(budwood: Budwood) -> None:
    budwood.plan(task("bad", "exit 3"), task("next", after=["bad"]))
    said = budwood.call("run", "plan.toml", code=1)
    assert "plan: 1 failed, 1 skipped of 2 in " in said.err
    assert "  failed  bad  exit code 3  budwood logs plan bad" in said.err
    assert "hint: budwood retry plan" in said.err


def test_a_finished_run_tells_how_it_went_and_is_not_touched(budwood: Budwood) -> None:
    budwood.plan(task("a"), task("bad", "exit 3"))
    budwood.call("run", "plan.toml", code=1)
    before = len(budwood.events())
    said = budwood.call("run", "plan.toml", code=1)
    assert "1 done, 1 failed of 2" in said.err
    assert "--again runs it afresh" in said.err
    assert len(budwood.events()) == before


def test_a_cycle_is_refused_before_anything_is_written(budwood: Budwood) -> None:
    budwood.plan(task("a", after=["b"]), task("b", after=["a"]))
    said = budwood.call("run", "plan.toml", code=2)
    assert "Circular dependencies detected: a -> b -> a" in said.err
    assert not budwood.has_store


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[task]]\nid = 'a'\nprompt = 'write it'\n", "task 'a' of plan.toml has a prompt and no agent"),
        ("[[task]]\nid = 'a'\nrun = 'true'\ncpus = 100000\n", "can never start"),
        ("[[task]]\nid = 'a'\nrunn = 'true'\n", "unknown key 'runn'"),
        ("[[task]\n", "not TOML"),
    ],
)
def test_a_plan_that_cannot_run_is_refused_before_anything_is_written(
    budwood: Budwood, text: str, message: str
) -> None:
    (budwood.root / "plan.toml").write_text(text)
    said = budwood.call("run", "plan.toml", code=2)
    assert message in said.err
    assert not budwood.has_store


def test_a_missing_file_is_named(budwood: Budwood) -> None:
    said = budwood.call("run", "nowhere.toml", code=2)
    assert said.err.startswith("error: there is no file nowhere.toml\n\nhint: check the path; ")


def test_a_wrong_limit_is_refused_with_what_it_takes(budwood: Budwood) -> None:
    budwood.plan(task("a"))
    said = budwood.call("run", "plan.toml", "--slots", "0", code=2)
    assert "--slots is 0; it takes a whole number from 1 to 4096" in said.err


def test_limits_of_flags_reach_the_run(budwood: Budwood) -> None:
    budwood.plan(task("a"))
    words = "--slots 3 --strict --budget-usd 5 --budget-tokens 100 --budget-time 1h --max-attempts 9 --seed 11"
    budwood.call("run", "plan.toml", *words.split(), "--name", "Night shift")
    settings = budwood.state("night-shift").settings
    assert (settings.slots, settings.strict, settings.seed) == (3, True, 11)
    assert (settings.budget_usd, settings.budget_tokens, settings.budget_time_s) == (5.0, 100, 3600.0)
    assert settings.max_attempts == 9


def test_a_spent_budget_is_exit_3_and_says_how_to_go_on(budwood: Budwood) -> None:
    budwood.plan(task("a"), task("b", after=["a"]))
    said = budwood.call("run", "plan.toml", "--max-attempts", "1", code=3)
    assert "plan: paused (budget spent: 1 of 1 attempts); 1 done of 2" in said.err
    assert "hint: budwood resume plan --max-attempts N" in said.err


def test_tasks_run_in_the_project_wherever_the_command_is_given(budwood: Budwood) -> None:
    (budwood.root / "plans").mkdir()
    (budwood.root / "plans" / "deep.toml").write_text(task("a", "pwd > here"))
    budwood.call("run", "plans/deep.toml")
    assert budwood.lines("here") == [os.path.realpath(budwood.root)]


def test_quiet_says_nothing_when_all_went_well(budwood: Budwood) -> None:
    budwood.plan(task("a"))
    said = budwood.call("run", "plan.toml", "-q")
    assert (said.out, said.err) == ("", "")


def test_quiet_says_one_line_when_something_went_wrong(budwood: Budwood) -> None:
    budwood.plan(task("bad", "exit 3"))
    said = budwood.call("run", "plan.toml", "-q", code=1)
    assert said.err.startswith("plan: 1 failed of 1 in ")
    assert len(said.err.splitlines()) == 1


def test_jsonl_is_every_event_and_nothing_else_on_stdout(budwood: Budwood) -> None:
    budwood.plan(task("a"), task("b", after=["a"]))
    said = budwood.call("run", "plan.toml", "--jsonl")
    events = [json.loads(line) for line in said.out.splitlines()]
    assert [event["number"] for event in events] == list(range(1, len(budwood.events()) + 1))
    assert events[0]["event"] == "run_created"
    assert events[-1]["event"] == "driver_stopped"
    assert "plan: 2 done" in said.err


def test_a_reader_that_leaves_does_not_end_the_run(budwood: Budwood) -> None:
    budwood.plan(task("held", HELD), task("bad", "exit 1"), *(task(f"t{n}", after=["held"]) for n in range(20)))
    process = budwood.start("run", "plan.toml", "--jsonl")
    budwood.wait_began("held")
    assert process.stdout is not None
    process.stdout.close()
    budwood.let_go()
    assert process.wait(30) == 1
    assert budwood.state().counts[TaskPhase.DONE] == 21


def test_a_second_run_of_one_file_is_refused_with_the_holders_name(budwood: Budwood) -> None:
    budwood.plan(task("held", HELD))
    first = budwood.start("run", "plan.toml")
    budwood.wait_began("held")
    said = budwood.call("run", "plan.toml", code=2)
    assert f"run plan is already driven by pid {first.pid} on " in said.err
    assert "budwood watch plan" in said.err
    budwood.let_go()
    assert budwood.finish(first).code == 0


def test_a_run_that_was_claimed_and_never_begun_begins(budwood: Budwood) -> None:
    budwood.plan(task("a"))
    (budwood.root / ".budwood").mkdir()
    with open_store(budwood.root / ".budwood" / "store.db") as store:
        store.claim("abc", name="plan", source=str((budwood.root / "plan.toml").resolve()), fresh=False)
    assert "has not begun" in budwood.call("resume", "plan", code=2).err
    budwood.call("run", "plan.toml")
    assert [row.id for row in budwood.runs()] == ["abc"]


def test_a_notify_command_is_told_how_it_went(budwood: Budwood) -> None:
    budwood.plan(task("a"), task("bad", "exit 3"))
    command = 'echo "$BUDWOOD_RUN $BUDWOOD_STATE $BUDWOOD_EXIT $BUDWOOD_DONE $BUDWOOD_FAILED" > told'
    budwood.call("run", "plan.toml", "--notify", command, code=1)
    assert budwood.lines("told") == ["plan", "finished", "1", "1", "1"]


def test_a_notify_command_that_fails_is_one_warning(budwood: Budwood) -> None:
    budwood.plan(task("a"))
    said = budwood.call("run", "plan.toml", "--notify", "echo no such bell >&2; exit 7")
    assert said.err.splitlines()[-1].startswith("warning: the notify command failed with exit code 7: ")
    assert said.err.rstrip().endswith("no such bell")


def test_what_plan_check_would_say_is_mentioned_in_one_line(budwood: Budwood) -> None:
    budwood.plan("[run]\nslots = 9\n", task("a"))
    said = budwood.call("run", "plan.toml")
    assert said.err.splitlines()[0] == "note: 1 remark on this plan: budwood plan check plan.toml"


def test_of_a_plan_for_agents_it_is_said_in_full(budwood: Budwood) -> None:
    heads = "[run]\nagent = 'script'\nslots = 2\n"
    budwood.plan(heads, *(f"[[task]]\nid = '{name}'\nprompt = 'x'\ntouches = ['src']\n" for name in "abcd"))
    said = budwood.call("run", "plan.toml", "--max-attempts", "1", code=None).err.splitlines()
    assert said[0].startswith("warning: tasks 'a' (src) and 'b' (src) may change the same files")
    assert said[3] == "note: 3 more remarks on this plan: budwood plan check plan.toml"


def test_a_run_says_which_version_made_it(budwood: Budwood) -> None:
    budwood.plan(task("a"))
    budwood.call("run", "plan.toml")
    first = budwood.call("story", "plan").out.splitlines()[0]
    assert first.endswith(f"run plan was created by budwood {__version__}")


def test_init_makes_a_project_that_runs_and_overwrites_nothing(budwood: Budwood) -> None:
    said = budwood.call("init", "fresh")
    assert "budwood run fresh/plan.toml" in said.err
    assert (budwood.root / "fresh" / ".budwood" / ".gitignore").read_text() == "*\n"
    done = budwood.call("run", "fresh/plan.toml")
    assert "plan: 5 done" in done.err
    refused = budwood.call("init", "fresh", code=2)
    assert "nothing was written" in refused.err
