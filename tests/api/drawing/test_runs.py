"""Runs of a program, drawn: under way, over, and where nobody drives them."""

from tests.api.drawing.nodes import Seen
from tests.api.world import World, held
from tests.cli.world import wait_for

import budwood
from budwood._core.model import TaskPhase


def test_a_plan_is_drawn_while_it_runs_and_when_it_is_over(world: World) -> None:
    tasks = [
        # It ends while the other runs: on a busy machine there would be a time in which nothing does.
        budwood.command("until [ -e began-slow ]; do sleep 0.02; done; exit 3", id="bad", retries=1),
        held("slow"),
        budwood.command("true", id="last", after=["slow"]),
        budwood.command("true", id="never", after=["bad", "slow"]),
    ]
    run = budwood.start(tasks, name="night", slots=2, backoff="10ms")
    world.wait_began("slow")
    wait_for(lambda: run.counts[TaskPhase.FAILED] == 1, what="the failure")
    for seen in (run, budwood.open_run("night")):
        tree = Seen(seen.tree())
        assert tree.texts[:5] == ["bad", "slow", "last", "never", "Plan of run night: 4 tasks"]
        assert tree.texts[5:] == ["failed", "skipped", "running", "to come"]
        assert seen.tree().svg.count('stroke-dasharray="3 3"') == 1  # never comes after two
        assert "Nothing in it is scored." in Seen(seen.scores()).texts
        timeline = Seen(seen.timeline())
        assert sorted(title.partition("\n")[0] for title in timeline.titles) == [
            "bad, attempt 1: failed",
            "bad, attempt 2: failed",
            "slow, attempt 1: running",
        ]
    world.let_go()
    run.wait(30)
    assert Seen(run.tree()).texts[5:] == ["done", "failed", "skipped"]
    assert run.timeline() == run.timeline() == budwood.open_run("night").timeline()
    assert "4 in 2 slots" in run.timeline().text
    assert ", 1 retry" in run.timeline().text


def test_what_runs_without_a_driver_is_drawn_until_the_last_event(world: World) -> None:
    run = budwood.start([held("slow")], name="night")
    wait_for(lambda: bool(Seen(run.timeline()).titles), what="the beginning to be recorded")
    run.stop(now=True)
    wait_for(lambda: not run.is_driven, what="the driver to leave")
    assert run.timeline() == run.timeline()
    assert [title.partition("\n")[0] for title in Seen(run.timeline()).titles] == ["slow, attempt 1: running"]
