"""`budwood resume`: a run goes on where it was."""

import signal

import pytest
from tests.cli.world import HELD, Budwood, send, task, wait_for

from budwood._core.events import RunAccounted

pytestmark = pytest.mark.slow


def test_attempts_that_survived_a_killed_driver_are_adopted(budwood: Budwood) -> None:
    budwood.plan(task("a", HELD), task("b", HELD), task("c", after=["a", "b"]))
    driver = budwood.start("run", "plan.toml")
    budwood.wait_began("a", "b")
    send(driver, signal.SIGKILL)
    driver.wait()
    again = budwood.start("resume", "plan")
    wait_for(lambda: any(isinstance(event, RunAccounted) for event in budwood.events()), what="a new driver")
    budwood.let_go()
    said = budwood.finish(again)
    assert said.code == 0
    assert "plan goes on: 2 adopted while running, 1 not started of 3" in said.err
    assert [budwood.lines(f"began-{name}") for name in "abc"] == [["1"]] * 3


def budwood_goes_on(budwood: Budwood) -> None:
    from tests.cli.world import wait_for

    wait_for(
        lambda: sum(type(event).__name__ == "RunAccounted" for event in budwood.events()) == 1, what="a new driver"
    )
    budwood.let_go()


def test_a_killed_run_goes_on_with_run_as_well(budwood: Budwood) -> None:
    budwood.plan(task("a", HELD), task("b", after=["a"]))
    driver = budwood.start("run", "plan.toml")
    budwood.wait_began("a")
    send(driver, signal.SIGKILL)
    driver.wait()
    budwood.let_go()
    said = budwood.call("run", "plan.toml")
    assert "plan goes on" in said.err
    assert len(budwood.runs()) == 1
    assert budwood.lines("began-a") == ["1"]


def test_a_spent_budget_can_be_raised(budwood: Budwood) -> None:
    budwood.plan(task("a"), task("b", after=["a"]))
    budwood.call("run", "plan.toml", "--max-attempts", "1", code=3)
    said = budwood.call("resume", "plan", "--max-attempts", "5")
    assert "settings changed: max_attempts is now 5" in said.err
    assert "plan: 2 done" in said.err


def test_a_finished_run_tells_how_it_went(budwood: Budwood) -> None:
    budwood.plan(task("bad", "exit 3"))
    budwood.call("run", "plan.toml", code=1)
    before = len(budwood.events())
    said = budwood.call("resume", "plan", code=1)
    assert "plan: 1 failed of 1" in said.err
    assert len(budwood.events()) == before


def test_a_cancelled_run_is_refused_with_what_helps(budwood: Budwood) -> None:
    budwood.plan(task("a", HELD))
    driver = budwood.start("run", "plan.toml")
    budwood.wait_began("a")
    budwood.call("cancel", "plan")
    assert budwood.finish(driver).code == 1
    said = budwood.call("resume", "plan", code=2)
    assert "was cancelled" in said.err
    assert "budwood retry plan" in said.err


def test_a_driven_run_is_refused_with_the_holders_name(budwood: Budwood) -> None:
    budwood.plan(task("a", HELD))
    driver = budwood.start("run", "plan.toml")
    budwood.wait_began("a")
    said = budwood.call("resume", "plan", code=2)
    assert f"driven by pid {driver.pid}" in said.err
    budwood.let_go()
    budwood.finish(driver)


def test_a_paused_run_whose_driver_waits_for_the_rest_goes_on_by_asking(budwood: Budwood) -> None:
    budwood.plan(task("a", HELD), task("b", after=["a"]))
    driver = budwood.start("run", "plan.toml")
    budwood.wait_began("a")
    budwood.call("pause", "plan")
    said = budwood.call("resume", "plan")
    assert "plan: goes on" in said.err
    budwood.let_go()
    assert budwood.finish(driver).code == 0
    assert budwood.lines("did-b") == ["did"]


def test_a_run_is_found_by_prefix_and_by_last_and_a_near_miss_is_named(budwood: Budwood) -> None:
    budwood.plan(task("a"))
    budwood.call("run", "plan.toml")
    budwood.call("resume", "pl")
    budwood.call("resume", "last")
    assert "did you mean plan?" in budwood.call("resume", "plam", code=2).err


def test_resume_works_from_another_directory_of_the_project(budwood: Budwood) -> None:
    budwood.plan(task("a", HELD), task("b", after=["a"]))
    driver = budwood.start("run", "plan.toml")
    budwood.wait_began("a")
    send(driver, signal.SIGKILL)
    driver.wait()
    budwood.let_go()
    store = budwood.root / ".budwood" / "store.db"
    elsewhere = Budwood(budwood.root.parent / "elsewhere")
    said = elsewhere.call("resume", "plan", "--store", str(store))
    assert "plan: 2 done" in said.err
    assert budwood.lines("began-a") == ["1"]


def test_a_project_that_was_moved_is_said_to_be_gone_and_nothing_is_made_there(budwood: Budwood) -> None:
    budwood.plan(task("a"), task("b", after=["a"]))
    budwood.call("run", "plan.toml", "--max-attempts", "1", code=3)
    moved = budwood.root.with_name("moved")
    budwood.root.rename(moved)
    budwood.root = moved
    said = budwood.call("resume", "plan", "--max-attempts", "9", code=2)
    assert "the directory of run plan is gone" in said.err
    assert not moved.with_name("project").exists()
