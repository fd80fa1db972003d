"""Tasks that join while the run goes on, by a request: their place in the graph, edits of the plan, replay."""

import msgspec
import pytest
from tests.core.bench import BAD, OK, Bench, task

from budwood._core import events as e
from budwood._core.model import Errand, LaneSpec, Left, Outcome, TaskPhase, TaskSpec
from budwood._core.state import RunState
from budwood.engine.opening import revision
from budwood.errors import IllegalTransition


def created(bench: Bench, spec: TaskSpec, parent: str | None = None) -> None:
    bench.record(e.TaskCreated(task=spec, parent=parent))


def same(state: RunState, other: RunState) -> bool:
    """Compare what a replay must give again; queues may hold stale entries."""
    return (state.tasks, state.hard, state.soft, state.counts, state.open) == (
        other.tasks,
        other.hard,
        other.soft,
        other.counts,
        other.open,
    )


def test_a_created_task_gets_the_next_number_and_starts_when_it_can() -> None:
    bench = Bench(task("a"), task("b", "a"))
    assert bench.fill() == ["a"]
    created(bench, task("x", "a"), "a")
    created(bench, task("y"), "a")
    assert [bench.of(name).number for name in ("x", "y")] == [2, 3]
    assert bench.fill() == ["y"]
    bench.end("a")
    assert bench.fill() == ["b", "x"]
    assert same(bench.refold(), bench.state)


def test_a_created_task_knows_who_created_it_and_how_deep_it_is() -> None:
    bench = Bench(task("a"))
    created(bench, task("x"), "a")
    created(bench, task("y"), "x")
    created(bench, task("z"))
    assert [(bench.of(n).parent, bench.of(n).depth, bench.of(n).children) for n in ("a", "x", "y", "z")] == [
        (None, 0, 1),
        (0, 1, 1),
        (1, 2, 0),
        (None, 0, 0),
    ]


def test_the_run_does_not_end_before_what_was_created_has() -> None:
    bench = Bench(task("a"))
    bench.fill()
    created(bench, task("x", "a"), "a")
    bench.end("a")
    assert bench.rest() == []
    bench.fill()
    bench.end("x")
    assert bench.rest() == [e.RunEnded()]


def test_a_failure_skips_what_was_created_behind_it() -> None:
    bench = Bench(task("a"))
    bench.fill()
    created(bench, task("x", "a"), "a")
    bench.end("a", BAD)
    assert bench.phases() == {"a": "failed", "x": "skipped"}


def test_an_updated_task_waits_for_what_it_depends_on_now() -> None:
    bench = Bench(task("a"), task("b"))
    created(bench, task("x"))
    assert bench.of("x").phase is TaskPhase.READY
    bench.record(e.TaskUpdated(task=task("x", "b", run="new")))
    assert bench.of("x").phase is TaskPhase.BLOCKED
    assert bench.fill() == ["b", "a"]
    bench.record(e.TaskUpdated(task=task("x", run="new")))
    assert bench.fill() == ["x"]
    assert same(bench.refold(), bench.state)


def test_an_update_of_its_priority_lets_it_start_first() -> None:
    bench = Bench(task("a"), task("b"))
    created(bench, task("x"))
    bench.record(e.TaskUpdated(task=task("x", priority=9)))
    assert bench.fill() == ["x", "a", "b"]


def test_what_runs_cannot_be_updated() -> None:
    bench = Bench(task("a"))
    created(bench, task("x"))
    bench.fill()
    with pytest.raises(IllegalTransition):
        bench.record(e.TaskUpdated(task=task("x", priority=9)))


def test_a_plan_that_is_read_again_does_not_lose_what_was_created() -> None:
    bench = Bench(task("a"), task("b"))
    created(bench, task("x", "a"), "a")
    assert revision(bench.state, [task("a"), task("b")], ()) is None
    edit = revision(bench.state, [task("a"), task("b"), task("c")], ())
    assert edit is not None
    assert (edit.removed, [spec.id for spec in edit.added]) == ((), ["c"])
    bench.record(edit)
    assert set(bench.phases()) == {"a", "b", "c", "x"}
    assert same(bench.refold(), bench.state)


def test_what_stands_on_a_task_that_the_plan_lost_goes_with_it() -> None:
    bench = Bench(task("a"), task("b"), lanes=("l",))
    created(bench, task("x", "b"), "a")
    created(bench, task("y", "x"), "a")
    created(bench, task("z", prefer=["b"]), "a")
    created(bench, task("w", lane="l"), "a")
    edit = revision(bench.state, [task("a")], ())
    assert edit is not None
    assert edit.removed == ("b", "x", "y", "w")
    bench.record(edit)
    assert bench.phases() == {"a": "ready", "z": "ready"}
    assert bench.of("z").spec.prefer_after == ()
    assert same(bench.refold(), bench.state)


def test_a_created_task_that_the_plan_takes_in_is_the_plans_own() -> None:
    bench = Bench(task("a"))
    created(bench, task("x"), "a")
    edit = revision(bench.state, [task("a"), task("x", "a")], ())
    assert edit is not None
    bench.record(edit)
    gone = revision(bench.state, [task("a")], ())
    assert gone is not None
    assert gone.removed == ("x",)


def test_a_task_that_joins_a_lane_holds_up_the_lane_behind_it() -> None:
    lanes = (LaneSpec(id="one"), LaneSpec(id="two", after=("one",)))
    bench = Bench(task("a"), task("b", lane="two"), lanes=lanes)
    assert bench.of("b").phase is TaskPhase.READY
    created(bench, task("x", lane="one"), "a")
    assert bench.of("b").phase is TaskPhase.BLOCKED
    assert same(bench.refold(), bench.state)


def test_a_question_is_open_until_it_is_answered() -> None:
    bench = Bench(task("a"))
    bench.fill()
    bench.begin("a")
    bench.record(e.QuestionAsked(task="a", attempt=1, question=1, text="which?"))
    attempt = bench.of("a").attempt
    assert attempt is not None
    assert (attempt.phase.value, attempt.asks and attempt.asks.text) == ("needs_input", "which?")
    bench.record(e.QuestionAnswered(task="a", attempt=1, question=1, text="that"))
    assert (attempt.phase.value, attempt.asks) == ("running", None)
    bench.end("a")
    assert same(bench.refold(), bench.state)


def test_a_question_may_come_before_the_word_of_the_start() -> None:
    bench = Bench(task("a"))
    bench.fill()
    bench.record(e.QuestionAsked(task="a", attempt=1, question=1, text="which?"))
    attempt = bench.of("a").attempt
    assert attempt is not None
    assert attempt.phase.value == "queued"
    bench.begin("a")
    assert (attempt.phase.value, attempt.pid) == ("needs_input", 7)


def test_an_attempt_that_asks_can_end_in_every_way() -> None:
    bench = Bench(task("a", retries=1))
    bench.fill()
    bench.begin("a")
    bench.record(e.QuestionAsked(task="a", attempt=1, question=1, text="which?"))
    bench.end("a", BAD)
    assert bench.phases() == {"a": "ready"}


def left(commit: str) -> Outcome:
    """Succeed, and leave a commit."""
    return msgspec.structs.replace(
        OK, left=Left(base="b", tree="t", candidate=commit, commit=commit, ref="refs/x", files=1)
    )


@pytest.mark.parametrize("late", [False, True])
def test_a_conflict_that_is_solved_too_late_takes_nothing_from_a_lane_that_went_on(late: bool) -> None:
    bench = Bench(task("a", lane="x"), lanes=["x"])
    bench.fill()
    bench.end("a", left("first"))
    solve = TaskSpec(id="resolve-x", run="t", errand=Errand(kind="resolve", start="marked", line="lane x"))
    bench.record(e.ErrandAdded(task=solve))
    bench.fill()
    if late:
        created(bench, task("more", lane="x"))
        bench.fill()
        bench.end("more", left("second"))
    bench.end("resolve-x", left("solved"))
    assert bench.state.heads == {"lane x": "second" if late else "solved"}
    assert bench.refold().heads == bench.state.heads


def test_an_edited_plan_wants_nothing_again_that_the_merge_queue_is_done_with() -> None:
    bench = Bench(task("a"))
    bench.fill()
    bench.end("a")
    bench.record(e.ErrandAdded(task=TaskSpec(id="verify-1", run="t", errand=Errand(kind="verify", start="c"))))
    bench.fill()
    bench.end("verify-1", BAD)
    bench.record(e.PlanRevised(added=(task("b"),)))
    assert bench.fill() == ["b"]
