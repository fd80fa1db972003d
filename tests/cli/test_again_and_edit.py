"""--again makes a new run; an edited plan runs what is new or changed and keeps the rest."""

import signal

from tests.cli.world import HELD, Budwood, send, task


def test_again_makes_a_new_run_with_a_name_of_its_own(budwood: Budwood) -> None:
    budwood.plan(task("a"))
    budwood.call("run", "plan.toml")
    said = budwood.call("run", "plan.toml", "--again")
    assert "plan-2: 1 done" in said.err
    assert [row.name for row in budwood.runs()] == ["plan", "plan-2"]
    assert budwood.lines("did-a") == ["did", "did"]


def test_without_again_the_newest_run_is_meant(budwood: Budwood) -> None:
    budwood.plan(task("a"))
    budwood.call("run", "plan.toml")
    budwood.call("run", "plan.toml", "--again")
    assert "plan-2: 1 done" in budwood.call("run", "plan.toml").err


def test_an_edited_plan_runs_what_was_added_or_changed_and_no_more(budwood: Budwood) -> None:
    budwood.plan(task("keep"), task("edit", "echo old >> edits"), task("drop"), task("behind", after=["edit"]))
    budwood.call("run", "plan.toml")
    budwood.plan(task("keep"), task("edit", "echo new >> edits"), task("behind", after=["edit"]), task("more"))
    said = budwood.call("run", "plan.toml")
    assert "the plan was edited: 1 added (more), 1 changed (edit), 1 removed (drop)" in said.err
    assert "plan: 4 done" in said.err
    assert budwood.lines("edits") == ["old", "new"]
    assert budwood.lines("did-keep") == ["did"]
    assert budwood.lines("did-behind") == ["did", "did"]
    assert budwood.lines("did-more") == ["did"]
    assert len(budwood.runs()) == 1


def test_an_edit_of_a_killed_run_ends_what_is_no_longer_wanted(budwood: Budwood) -> None:
    budwood.plan(task("a", HELD), task("b", HELD))
    driver = budwood.start("run", "plan.toml")
    budwood.wait_began("a", "b")
    send(driver, signal.SIGKILL)
    driver.wait()
    budwood.plan(task("a", HELD), task("c"))
    again = budwood.start("run", "plan.toml")
    budwood.wait_began("c")
    budwood.let_go()
    said = budwood.finish(again)
    assert said.code == 0
    assert "1 added (c), 1 removed (b)" in said.err
    assert budwood.lines("began-a") == ["1"]
    assert budwood.lines("did-b") == []


def test_changed_settings_are_named(budwood: Budwood) -> None:
    budwood.plan(task("a"), task("b", after=["a"]))
    budwood.call("run", "plan.toml", "--max-attempts", "1", code=3)
    said = budwood.call("run", "plan.toml", "--slots", "2")
    assert "settings changed: slots is now 2, max_attempts is now not set" in said.err


def test_a_run_keeps_its_seed(budwood: Budwood) -> None:
    budwood.plan(task("a"), task("b", after=["a"]))
    budwood.call("run", "plan.toml", "--max-attempts", "1", code=3)
    said = budwood.call("run", "plan.toml", "--seed", "5", code=2)
    assert "run plan has seed 0; a run keeps its seed" in said.err
    assert "plan: 2 done" in budwood.call("run", "plan.toml").err


def test_another_name_is_only_for_a_new_run(budwood: Budwood) -> None:
    budwood.plan(task("a"), task("b", after=["a"]))
    budwood.call("run", "plan.toml", "--max-attempts", "1", code=3)
    said = budwood.call("run", "plan.toml", "--name", "other")
    assert "note: this file's run goes on under its name plan; --again makes a new one" in said.err
