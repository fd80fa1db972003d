"""An edited plan: what was done under an unchanged key stays, all else is wanted again, nothing readable is lost."""

import pytest
from tests.core.bench import BAD, CANCELLED, OK, Bench, bad, task

from budwood._core import events as e
from budwood._core.commands import CancelAttempt, ForgetAttempt
from budwood._core.decisions import decision_lines
from budwood._core.model import LaneSpec, RunPhase, RunSettings, TaskPhase, TaskSpec
from budwood._core.project import take_rows
from budwood.errors import PlanError


def run_to_end(bench: Bench) -> list[object]:
    """Run all there is; return what was started, in order."""
    order: list[object] = []
    while started := bench.fill():
        order += started
        for name in started:
            bench.end(name)
    bench.rest()
    return order


def finished(*specs: TaskSpec) -> Bench:
    bench = Bench(*specs)
    run_to_end(bench)
    assert bench.state.phase is RunPhase.FINISHED
    return bench


def test_what_was_added_runs_and_what_was_done_stays_done() -> None:
    bench = finished(task("a"), task("b", "a"))
    bench.record(e.PlanRevised(added=(task("c", "b"), task("d"))))
    assert bench.state.phase is RunPhase.ACTIVE
    assert run_to_end(bench) == ["c", "d"]
    assert [(each.number, each.spec.id) for each in bench.state.tasks] == [(0, "a"), (1, "b"), (2, "c"), (3, "d")]
    assert bench.state.planned == 4


def test_what_was_changed_runs_again_with_all_that_stands_on_it() -> None:
    bench = finished(task("a"), task("b", "a"), task("c", "b"), task("free"))
    before = {each.spec.id: each.key for each in bench.state.tasks}
    bench.record(e.PlanRevised(changed=(task("b", "a", run="false"),)))
    after = {each.spec.id: each.key for each in bench.state.tasks}
    assert [name for name in before if before[name] != after[name]] == ["b", "c"]
    assert bench.phases() == {"a": "done", "b": "ready", "c": "blocked", "free": "done"}
    assert run_to_end(bench) == ["b", "c"]
    assert bench.of("c").attempts == 2


def test_other_wishes_repeat_nothing() -> None:
    bench = finished(task("a"), task("b", "a"))
    bench.record(e.PlanRevised(changed=(task("b", "a", priority=9, retries=3, group="g", cpus=1.0),)))
    assert run_to_end(bench) == []
    assert bench.state.phase is RunPhase.FINISHED
    assert bench.of("b").spec.retries == 3


def test_what_failed_is_tried_again_when_the_plan_is_edited() -> None:
    bench = Bench(task("a", retries=1), task("b", "a"), task("c"))
    bench.fill()
    bench.end("c")
    bench.end("a", BAD)
    bench.of("a").not_before_ms = 0
    bench.state.queue.ready = [bench.of("a").rank]
    bench.fill()
    bench.end("a", BAD)
    bench.rest()
    bench.record(e.PlanRevised(added=(task("d"),)))
    assert bench.phases() == {"a": "ready", "b": "blocked", "c": "done", "d": "ready"}
    assert bench.of("a").tries == 0
    assert run_to_end(bench) == ["a", "d", "b"]


def test_what_was_taken_away_is_no_longer_counted_and_stays_readable() -> None:
    bench = finished(task("a"), task("b"))
    bench.record(e.PlanRevised(removed=("a",)))
    gone = bench.state.tasks[0]
    assert gone.removed
    assert gone.phase is TaskPhase.DONE
    assert bench.state.planned == 1
    assert bench.phases() == {"b": "done"}
    assert [row.removed for row in take_rows(bench.state).tasks] == [True, False]


def test_what_was_taken_away_before_it_ran_never_runs() -> None:
    bench = Bench(task("a"), task("b", "a"), task("c"))
    bench.record(e.PlanRevised(removed=("a",), changed=(task("b"),)))
    assert run_to_end(bench) == ["b", "c"]
    assert bench.state.tasks[0].phase is TaskPhase.CANCELLED


def test_a_plan_that_was_edited_into_a_wrong_one_is_refused() -> None:
    bench = finished(task("a"), task("b", "a"))
    with pytest.raises(PlanError, match="no task is called that"):
        bench.record(e.PlanRevised(removed=("a",)))


def test_lanes_are_replaced() -> None:
    bench = Bench(task("a", lane="x"), task("b", lane="y"), lanes=["x", "y"])
    bench.record(e.PlanRevised(lanes=(LaneSpec(id="x"), LaneSpec(id="y", after=("x",)))))
    assert bench.fill() == ["a"]
    assert bench.of("b").waiting == 1


def test_what_runs_on_an_old_definition_is_ended_and_does_not_count() -> None:
    bench = Bench(task("a"), task("b", "a"))
    bench.fill()
    commands = bench.record(e.PlanRevised(changed=(task("a", run="other"),)))
    assert commands == [CancelAttempt(0, 1)]
    assert bench.phases()["a"] == "active"
    commands = bench.end("a", OK)  # it was quicker than the signal
    assert commands == [ForgetAttempt(0, 1)]
    assert bench.phases() == {"a": "ready", "b": "blocked"}
    assert (bench.of("a").tries, bench.of("a").attempts) == (0, 1)
    assert run_to_end(bench) == ["a", "b"]


def test_what_runs_on_the_same_definition_goes_on() -> None:
    bench = Bench(task("a"), task("b", "a"))
    bench.fill()
    assert bench.record(e.PlanRevised(changed=(task("b", "a", run="other"),))) == []
    bench.end("a")
    assert bench.phases() == {"a": "done", "b": "ready"}


def test_a_dependant_that_still_runs_on_old_inputs_is_skipped_when_the_new_ones_fail() -> None:
    bench = Bench(task("a"), task("b", "a"), task("c", "b"))
    bench.fill()
    bench.end("a")
    bench.fill()
    bench.record(e.PlanRevised(changed=(task("a", run="other"),)))
    assert bench.fill() == ["a"]
    bench.end("a", BAD)
    assert bench.phases() == {"a": "failed", "b": "active", "c": "blocked"}
    bench.end("b", CANCELLED)
    assert bench.phases() == {"a": "failed", "b": "skipped", "c": "skipped"}
    assert (bench.of("b").because, bench.of("c").because) == ("a", "a")
    assert bench.rest() == [e.RunEnded()]


def test_a_dependant_that_still_runs_on_old_inputs_waits_for_the_new_ones() -> None:
    bench = Bench(task("a"), task("b", "a"))
    bench.fill()
    bench.end("a")
    bench.fill()
    bench.record(e.PlanRevised(changed=(task("a", run="other"),)))
    bench.end("b", CANCELLED)
    assert bench.phases() == {"a": "ready", "b": "blocked"}
    assert run_to_end(bench) == ["a", "b"]


def test_what_was_removed_while_it_ran_is_ended_and_touches_nobody() -> None:
    bench = Bench(task("a"), task("b", "a"), task("c"), settings=RunSettings(slots=1))
    assert bench.fill() == ["a"]
    commands = bench.record(e.PlanRevised(removed=("a",), changed=(task("b"),)))
    assert commands == [CancelAttempt(0, 1)]
    assert bench.state.planned == 2
    take_rows(bench.state)
    bench.end("a", CANCELLED)
    assert bench.phases() == {"b": "ready", "c": "ready"}
    assert sum(bench.state.counts.values()) == 2
    rows = take_rows(bench.state)
    assert [(row.id, row.phase, row.removed) for row in rows.tasks] == [("a", TaskPhase.CANCELLED, True)]
    assert run_to_end(bench) == ["b", "c"]
    assert bench.state.phase is RunPhase.FINISHED


def test_a_removed_task_has_no_edges_left() -> None:
    bench = finished(task("a"), task("b", "a", prefer=["c"]), task("c"), task("d", "b", prefer=["c"]))
    take_rows(bench.state)
    bench.record(e.PlanRevised(removed=("b",), changed=(task("d"),)))
    rows = take_rows(bench.state)
    assert rows.dependencies == ()
    assert 1 in rows.gone_dependencies
    assert bench.state.dependants[0] == []


def test_a_fault_of_the_machine_pauses_though_the_task_was_removed() -> None:
    bench = Bench(task("a"), task("b"), settings=RunSettings(slots=1))
    bench.fill()
    bench.record(e.PlanRevised(removed=("a",)))
    bench.end("a", bad("disk_full"))
    assert bench.state.pause_kind == "disk"


def test_a_task_that_was_removed_and_comes_back_while_it_runs_is_one_task() -> None:
    bench = Bench(task("a"), task("b", "a"))
    bench.fill()
    bench.record(e.PlanRevised(removed=("a", "b")))
    bench.record(e.PlanRevised(added=(task("a"), task("b", "a"))))
    assert [each.spec.id for each in bench.state.tasks if not each.removed] == ["a", "b"]
    assert bench.state.planned == 2
    bench.end("a", CANCELLED)  # by the first edit, though by now it is wanted again
    assert bench.phases() == {"a": "ready", "b": "blocked"}
    assert run_to_end(bench) == ["a", "b"]
    assert bench.refold().counts == bench.state.counts


def test_a_done_task_that_was_removed_and_comes_back_is_done() -> None:
    bench = finished(task("a"), task("b"))
    bench.record(e.PlanRevised(removed=("a",)))
    bench.record(e.PlanRevised(added=(task("a"),)))
    assert [(each.number, each.removed) for each in bench.state.tasks] == [(0, False), (1, False)]
    assert run_to_end(bench) == []


def test_an_edit_that_is_undone_repeats_nothing() -> None:
    bench = finished(task("a"), task("b", "a"))
    before = list(decision_lines(bench.state))
    bench.record(e.PlanRevised(changed=(task("a", run="other"),)))
    assert run_to_end(bench) == ["a", "b"]
    bench.record(e.PlanRevised(changed=(task("a"),)))
    assert run_to_end(bench) == []
    assert list(decision_lines(bench.state)) == before


def test_what_somebody_cancelled_stays_so_until_the_edit_changes_it() -> None:
    bench = Bench(task("a"), task("x"))
    bench.record(e.TasksCancelled(tasks=("x",)))
    bench.record(e.PlanRevised(added=(task("c"),)))
    assert bench.phases()["x"] == "cancelled"
    bench.record(e.PlanRevised(changed=(task("x", run="other"),)))
    assert bench.phases()["x"] == "ready"


def test_an_edit_that_was_taken_back_while_the_attempt_was_being_ended_gives_nothing_up() -> None:
    bench = Bench(task("a"), task("b", "a"))
    bench.fill()
    bench.record(e.PlanRevised(changed=(task("a", run="other"),)))
    bench.record(e.PlanRevised(changed=(task("a"),)))
    bench.end("a", CANCELLED)
    assert bench.phases() == {"a": "ready", "b": "blocked"}
    assert run_to_end(bench) == ["a", "b"]


def test_an_edit_that_was_taken_back_does_not_let_a_task_overtake_what_it_stands_on() -> None:
    bench = Bench(task("a"), task("b", "a", retries=1))
    bench.fill()
    bench.end("a")
    bench.fill()
    bench.record(e.PlanRevised(changed=(task("a", run="other"),)))
    bench.record(e.PlanRevised(changed=(task("a"),)))
    bench.end("b", BAD)
    assert bench.phases() == {"a": "done", "b": "ready"}
    assert bench.state.task("b").tries == 1


def test_an_edit_that_was_taken_back_while_the_new_one_ran_repeats_nothing_and_nobody_overtakes() -> None:
    bench = Bench(task("a"), task("b", "a", retries=1))
    bench.fill()
    bench.end("a")
    bench.fill()
    bench.record(e.PlanRevised(changed=(task("a", run="other"),)))
    assert bench.fill() == ["a"]
    bench.record(e.PlanRevised(changed=(task("a"),)))
    bench.end("b", BAD)
    assert bench.phases() == {"a": "active", "b": "blocked"}
    bench.end("a", CANCELLED)
    assert bench.phases() == {"a": "done", "b": "ready"}
    assert bench.of("a").tries == 1


def test_an_edited_plan_takes_a_cancelled_run_up_again() -> None:
    bench = Bench(task("a"), task("b"))
    bench.record(e.AttemptQueued(task="a", attempt=1, slot=0))
    bench.record(e.TasksCancelled(tasks=("a", "b"), whole_run=True))
    bench.record(e.PlanRevised(added=(task("c"),)))
    bench.end("a", OK)
    run_to_end(bench)
    assert bench.state.phase is RunPhase.FINISHED
