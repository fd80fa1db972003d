"""What a program sees of a run, and what it may ask of it."""

import os
from typing import Any

import pytest
from tests.api.world import World, held
from tests.cli.world import QUICK

import budwood
from budwood import NoSuchId, TaskFailed, TaskSpec, UsageError
from budwood._core import events as e

COSTS = """echo '{"cost_usd": 0.25, "tokens": 10}' > "$BUDWOOD_USAGE" """


def plan() -> list[TaskSpec]:
    """Make a small graph: one that costs, one that fails at last, what that skips, one beside them."""
    first = budwood.command(COSTS, id="first", lane="a", description="the first")
    bad = budwood.command("exit 3", id="bad", after=[first], retries=1)
    return [
        first,
        bad,
        budwood.command("true", id="never", after=[bad]),
        budwood.command("true", id=4, after=[first], lane="a"),
    ]


def done(world: World) -> budwood.Run:
    run = budwood.start(plan(), name="night", backoff="1ms", slots=2)
    run.wait()
    return run


def test_tasks_say_where_they_stand(world: World) -> None:
    tasks = {task.id: task for task in done(world).tasks()}
    assert {name: task.state.value for name, task in tasks.items()} == {
        "first": "done",
        "bad": "failed",
        "never": "skipped",
        4: "done",
    }
    assert (tasks["first"].cost_usd, tasks["first"].lane, tasks["first"].description) == (0.25, "a", "the first")
    assert (tasks["bad"].attempts, tasks["bad"].batch, tasks["bad"].command) == (2, 2, "exit 3")
    assert tasks["bad"].error == budwood.Failure(type="exit", message="exit code 3", timed_out=False, traceback="")
    assert (tasks["never"].because, tasks["never"].duration_s, tasks["never"].error) == ("bad", None, None)
    took = tasks["first"].duration_s
    assert took is not None
    assert 0 < took < 10


def test_batches_have_number_tasks_state_duration_and_cost(world: World) -> None:
    batches = done(world).batches()
    assert [(batch.number, batch.tasks, batch.state.value, batch.cost_usd) for batch in batches] == [
        (1, ("first",), "done", 0.25),
        (2, ("bad", 4), "failed", 0.0),
        (3, ("never",), "skipped", 0.0),
    ]
    assert [batch.duration_s is None for batch in batches] == [False, False, True]


def test_results_are_of_the_tasks_that_were_tried(world: World) -> None:
    results = done(world).results()
    assert [(each.task, each.state.value, each.attempt, each.cost_usd, each.value) for each in results] == [
        ("first", "done", 1, 0.25, None),
        ("bad", "failed", 2, 0.0, None),
        (4, "done", 1, 0.0, None),
    ]
    assert all(each.duration_s > 0 for each in results)
    assert [each.error.message for each in results if each.error is not None] == ["exit code 3"]


def test_the_result_of_one_task_or_why_it_has_none(world: World) -> None:
    run = done(world)
    assert run.result("first") is None
    with pytest.raises(TaskFailed, match="task bad of run night: exit code 3") as caught:
        run.result("bad")
    assert (caught.value.task, caught.value.traceback) == ("bad", "")
    with pytest.raises(TaskFailed, match="task never of run night was skipped because of bad"):
        run.result("never")
    with pytest.raises(NoSuchId, match="run night has no task 'frist'") as missed:
        run.result("frist")
    assert missed.value.hint == "did you mean 'first'?"
    with pytest.raises(NoSuchId):
        run.result("fir")  # a prefix is for people who type


def test_lanes_have_their_tasks_and_what_they_took(world: World) -> None:
    [lane] = done(world).lanes()
    assert (lane.id, lane.state, lane.tasks, lane.cost_usd) == ("a", "waiting", ("first", 4), 0.25)
    assert {state.value: number for state, number in lane.counts.items()} == {"done": 2}
    assert lane.duration_s > 0


def test_cost_duration_counts_and_verdict_are_those_of_the_run(world: World) -> None:
    run = done(world)
    assert (run.cost_usd, run.state, run.is_driven) == (0.25, "finished", False)
    assert {state.value: number for state, number in run.counts.items() if number} == {
        "done": 2,
        "failed": 1,
        "skipped": 1,
    }
    verdict = run.verdict
    assert verdict is not None
    assert (verdict.exit_code, verdict.failed, verdict.skipped) == (1, ("bad",), ("never",))
    assert run.duration_s == pytest.approx(verdict.driven_s, abs=0.001)
    same = budwood.open_run("night")
    assert (same.cost_usd, same.counts, same.verdict) == (run.cost_usd, run.counts, verdict)
    assert same.duration_s == pytest.approx(run.duration_s)


def test_they_are_known_while_it_runs(world: World) -> None:
    run = budwood.start([budwood.command(COSTS, id="a"), held("b", after=["a"])], name="night")  # type: ignore[arg-type]
    world.wait_began("b")
    assert (run.state, run.cost_usd, run.verdict) == ("active", 0.25, None)
    assert {state.value: number for state, number in run.counts.items() if number} == {"done": 1, "active": 1}
    assert run.duration_s > 0
    assert [task.state.value for task in run.tasks()] == ["done", "active"]
    assert [(batch.state.value, batch.duration_s is None) for batch in run.batches()] == [
        ("done", False),
        ("active", True),
    ]
    assert repr(run) == "<run night: active, 1 of 2 done>"
    with pytest.raises(UsageError, match="task b of run night has not ended: it is active"):
        run.result("b")
    other = budwood.open_run("night")
    assert other.is_driven
    world.let_go()
    assert other.wait() == run.wait()


def test_the_graph_is_drawn_whole_by_lane_and_by_batch(world: World) -> None:
    graph = done(world).graph
    assert graph.tasks == ["first", "bad", "never", 4]
    assert graph.batches == [["first"], ["bad", 4], ["never"]]
    assert graph.longest_path == ["first", "bad", "never"]
    assert (
        graph.to_ascii()
        == "Batch 1\n  first [a]\n\nBatch 2\n  bad <- first\n  4 [a] <- first\n\nBatch 3\n  never <- bad\n"
    )
    assert graph.to_ascii(batch=2, lane="a") == "Batch 2\n  4 [a] <- first\n"
    assert graph.to_mermaid(batch=2) == 'flowchart TD\n  subgraph lane0["a"]\n    t3["4"]\n  end\n  t1["bad"]\n'
    assert "t0 --> t3" in graph.to_mermaid(lane="a")
    with pytest.raises(NoSuchId, match="there is no batch 4 in run night"):
        graph.to_mermaid(batch=4)


@pytest.mark.parametrize("given", [{"batch": "1"}, {"batch": 1.0}, {"batch": True}])
def test_a_batch_is_a_number(given: dict[str, Any]) -> None:
    graph = budwood.Graph([budwood.command("true", id="a")])
    for draw in (graph.to_mermaid, graph.to_ascii):
        with pytest.raises(UsageError, match=r"batch is .*; it takes a whole number"):
            draw(**given)
    with pytest.raises(UsageError, match="width is '80'"):
        graph.to_ascii(width="80")  # type: ignore[arg-type]


def test_a_graph_can_be_drawn_before_anything_runs() -> None:
    tasks = [budwood.command("true", id="a"), budwood.command("true", id="b", after=["a"])]
    assert budwood.Graph(tasks).batches == [["a"], ["b"]]
    in_lanes = budwood.Graph([budwood.command("true", id=name, lane=name) for name in "xy"])
    assert in_lanes.to_ascii(lane="y") == "Batch 1\n  y [y]\n"
    with pytest.raises(budwood.PlanError, match="comes after itself"):
        budwood.Graph([budwood.command("true", id="a", after=["a"])])


def test_events_are_numbered_and_have_the_public_shape(world: World) -> None:
    run = done(world)
    events = list(run.events())
    assert [event.number for event in events] == list(range(1, len(events) + 1))
    assert [event.as_dict() for event in run.events(after=5)] == [event.as_dict() for event in events[5:]]
    queued = next(event for event in events if event.kind == "attempt_queued")
    assert queued.body == {"task": "first", "attempt": 1, "slot": 0}
    assert queued.as_dict() == {
        "number": queued.number,
        "at_ms": round(queued.at.timestamp() * 1000),
        "event": "attempt_queued",
        "version": 1,
        **queued.body,
    }
    assert queued.run is run
    assert len(set(events) | set(run.events())) == len(events)
    assert str(queued).startswith(f"<event {queued.number} of night: attempt_queued task='first'")


@pytest.mark.parametrize("after", [-1, 2**63, "1", 1.0, True, None])
def test_events_come_behind_a_number(world: World, after: Any) -> None:
    run = done(world)
    for events in (run.events, run.follow):
        with pytest.raises(UsageError, match=rf"after is {after!r}; it takes the number of an event"):
            events(after=after)
    assert list(run.events(after=2**63 - 1)) == []


def test_follow_gives_every_event_and_ends_when_the_run_rests(world: World) -> None:
    run = budwood.start([held("a"), budwood.command("true", id="b", after=["a"])], name="night")
    seen = []
    for event in run.follow():
        seen.append(event.number)
        if event.kind == "attempt_started" and event.body["task"] == "a":
            world.let_go()
    assert seen == [event.number for event in run.events()]
    assert run.wait().exit_code == 0
    assert [event.number for event in run.follow(after=3)] == seen[3:]


def test_follow_follows_what_another_process_drives(world: World) -> None:
    world.plan(f"[[task]]\nid = 'a'\nrun = '''{held('a').run}'''")
    other = world.start("run", "plan.toml")
    world.wait_began("a")
    kinds = []
    for event in budwood.open_run("plan").follow():
        kinds.append(event.kind)
        if event.kind == "attempt_started":
            world.let_go()
    assert kinds[-2:] == ["run_ended", "driver_stopped"] or kinds[-1] == "run_ended"
    assert world.finish(other).code == 0


# --- asking ---


def test_pause_lets_what_runs_finish_and_nothing_new_start(world: World) -> None:
    run = budwood.start([held("a"), budwood.command(QUICK, id="b", after=["a"])], name="night")
    world.wait_began("a")
    assert run.pause() == "paused; 1 running, it may finish"
    assert run.state == "paused"
    world.let_go()
    verdict = run.wait()
    assert (verdict.exit_code, verdict.counts["done"]) == (4, 1)
    assert budwood.resume().wait().exit_code == 0


def test_a_run_that_nobody_drives_can_be_paused_cancelled_and_retried(world: World) -> None:
    run = budwood.start([held("a"), held("b")], name="night", slots=2)
    world.wait_began("a", "b")
    run.stop(now=True)
    run.wait()
    assert run.pause().startswith("paused; 2 running")
    assert run.state == "paused"
    assert run.cancel("a") == "tasks cancelled: 1"
    assert [task.state.value for task in run.tasks()] == ["cancelled", "active"]
    assert run.cancel() == "tasks cancelled: 1"
    assert (run.state, run.is_driven) == ("cancelled", False)
    world.let_go()
    assert run.retry() == "tasks wanted again: 2"
    assert run.is_driven
    assert run.wait().exit_code == 0


def test_a_run_that_has_ended_can_be_stopped_and_stays_as_it_is(world: World) -> None:
    run = done(world)
    for ended in (run, budwood.open_run("night")):
        ended.stop()
        ended.stop(now=True)
    assert run.state == "finished"


def test_one_task_is_cancelled_while_the_rest_goes_on(world: World) -> None:
    run = budwood.start([held("a"), held("b")], name="night", slots=2)
    world.wait_began("a", "b")
    run.cancel("a")
    world.let_go()
    counts = run.wait().counts
    assert (counts["done"], counts["cancelled"], sum(counts.values())) == (1, 1, 2)


def test_what_makes_no_sense_is_refused(world: World) -> None:
    run = done(world)
    with pytest.raises(UsageError, match="run night is finished"):
        run.pause()
    with pytest.raises(UsageError, match="run night is finished"):
        run.cancel()
    with pytest.raises(NoSuchId, match="no task 'nobody'"):
        run.retry("nobody")
    with pytest.raises(UsageError, match="task first is done"):
        run.retry("first")


def test_retry_is_heard_by_the_callback_of_the_start(world: World) -> None:
    heard: list[str] = []
    run = budwood.start(
        [budwood.command("test -e go", id="a")], name="night", on_event=lambda event: heard.append(event.kind)
    )
    assert run.wait().exit_code == 1
    world.let_go()
    run.retry("a")
    assert run.wait().exit_code == 0
    assert heard[-1] == "driver_stopped"
    assert "run_accounted" in heard


def test_a_with_waits_at_its_end_and_leaves_at_once_on_an_error(world: World) -> None:
    with budwood.start([budwood.command(QUICK, id="quick")], name="good") as run:
        assert run.name == "good"
    assert run.state == "finished"
    run = budwood.start([held("a")], name="bad")
    world.wait_began("a")
    with pytest.raises(ZeroDivisionError), run:
        1 / 0  # noqa: B018
    assert not run.is_driven
    stopped = [each for each in world.events("bad") if isinstance(each, e.DriverStopped)]
    assert [each.reason for each in stopped] == ["left by the program"]
    world.let_go()
    assert budwood.resume("bad").wait().exit_code == 0
    assert world.lines("began-a") == ["1"]


def test_a_result_that_was_edited_there_and_back_counts_again(world: World) -> None:
    good = budwood.command("true", id="a")
    bad = budwood.command("false", id="a")
    for task in (good, bad, good):
        run = budwood.start([task], name="night")
        run.wait()
    [result] = run.results()
    assert (result.state.value, result.attempt, result.error) == ("done", 1, None)
    assert run.result("a") is None


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_run_is_not_used_in_a_forked_child(world: World) -> None:
    run = budwood.start([held("a")], name="night")
    world.wait_began("a")
    out, into = os.pipe()
    child = os.fork()
    if child == 0:  # nothing of pytest may go on here
        problems = []
        for call in (run.wait, run.tasks, run.stop, run.pause, lambda: run.state, lambda: list(run.events())):
            try:
                call()
                problems.append("no error")
            except UsageError as error:
                problems.append("" if "forked" in str(error) and "open_run" in str(error) else str(error))
            except BaseException as error:
                problems.append(repr(error))
        os.write(into, "\n".join(problems).encode())
        os._exit(0)
    os.close(into)
    with open(out) as pipe:
        assert pipe.read().split("\n") == [""] * 6
    assert os.waitpid(child, 0)[1] == 0
    world.let_go()
    assert run.wait().exit_code == 0


def test_whom_the_settings_name_is_told_when_the_run_ends(world: World) -> None:
    run = budwood.start([budwood.command(QUICK, id="a")], name="night", notify='echo "$BUDWOOD_STATE" >> told')
    run.wait()
    assert world.lines("told") == ["finished"]


def test_who_cannot_be_told_is_a_warning_and_no_reason_to_fail(world: World) -> None:
    with pytest.warns(RuntimeWarning, match="the notify command failed with exit code 3"):
        verdict = budwood.start([budwood.command(QUICK, id="a")], name="night", notify="exit 3").wait()
    assert verdict.exit_code == 0
