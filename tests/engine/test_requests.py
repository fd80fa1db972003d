"""What somebody asks of a run: which events it becomes, or why not, and that it is answered in the same commit."""

import msgspec
import pytest
from tests.core.bench import BAD, OK, Bench, task
from tests.engine.stage import RUN

from budwood._core import events as e
from budwood._core.model import Left, Outcome, Review, RunPhase, TaskId
from budwood._core.replay import fold
from budwood._core.state import RunState
from budwood.engine.clock import Clock
from budwood.engine.journal import Journal
from budwood.engine.requests import take_request
from budwood.stores.base import Request
from budwood.stores.memory import MemoryStore


class Desk:
    """A journal over a memory store, at a run that was brought somewhere before."""

    def __init__(self, bench: Bench) -> None:
        self.store = MemoryStore()
        self.store.claim(RUN, name="night", source="plan", fresh=False)
        lease = self.store.acquire(RUN, "a test")
        self.journal = Journal(self.store, lease, RunState(), clock=Clock())
        for recorded in bench.events():  # consequences are among them
            self.journal._events.append(recorded)
        fold(bench.events(), self.journal.state)
        self.journal.commit(lambda events: None)
        self.state = self.journal.state

    def ask(self, kind: str, *ids: TaskId, body: str | None = None) -> tuple[list[e.Event], Request]:
        """Have a request taken and committed; return what was recorded and the answered request."""
        given = msgspec.json.encode(ids).decode() if ids else ""
        request = self.store.ask(RUN, kind, body=given if body is None else body, key=f"{self.state.number}")
        after = self.state.number
        take_request(self.journal, request)
        assert self.store.pending(RUN) == [request]  # nothing is answered before it is durable
        self.journal.commit(lambda events: None)
        recorded = [each.event for each in self.store.read(RUN, after)]
        return recorded, self.store.request(RUN, request.id)


def active() -> Bench:
    """A is done, b runs, c waits for b, d is ready."""
    bench = Bench(task("a", priority=9), task("b", priority=8), task("c", "b"), task("d"))
    for name in ("a", "b"):
        bench.record(e.AttemptQueued(task=name, attempt=1, slot=0 if name == "a" else 1))
    bench.end("a")
    return bench


def failed() -> Bench:
    """A failed, so b and c, which stand on it, were skipped; d is done and the run over."""
    bench = Bench(task("a"), task("b", "a"), task("c", "b"), task("d"))
    bench.fill()
    bench.end("a", BAD)
    bench.end("d")
    bench.rest()
    return bench


def test_a_pause_is_recorded_with_its_request() -> None:
    events, request = Desk(active()).ask("pause")
    assert events == [
        e.RequestTaken(request=1, kind="pause", detail="paused; 1 running, it may finish"),
        e.External(cause="pause"),
        e.RunPaused(kind="person", reason="paused by request"),
    ]
    assert (request.state, request.answer) == ("taken", "paused; 1 running, it may finish")


def test_pausing_twice_is_no_mistake() -> None:
    desk = Desk(active())
    desk.ask("pause")
    events, request = desk.ask("pause")
    assert [e.kind_of(event) for event in events] == ["request_taken"]
    assert (request.state, request.answer) == ("taken", "run night was paused already")


def test_a_paused_run_can_be_resumed() -> None:
    desk = Desk(active())
    desk.ask("pause")
    events, request = desk.ask("resume")
    assert events[-1] == e.RunResumed()
    assert request.state == "taken"
    assert desk.state.phase is RunPhase.ACTIVE


def test_cancelling_names_all_that_has_not_ended() -> None:
    events, request = Desk(active()).ask("cancel")
    assert events[1:] == [e.External(cause="cancel"), e.TasksCancelled(tasks=("b", "c", "d"), whole_run=True)]
    assert request.state == "taken"


def test_cancelling_again_while_attempts_are_still_ending_changes_nothing() -> None:
    desk = Desk(active())
    desk.ask("cancel")
    events, _ = desk.ask("cancel")
    assert events[-1] == e.TasksCancelled(tasks=(), whole_run=True)


def test_cancelling_a_task_skips_what_stands_on_it_in_the_same_commit() -> None:
    bench = Bench(task("b"), task("c", "b"), task("d"))
    events, _ = Desk(bench).ask("cancel", "b")
    assert events[1:] == [
        e.External(cause="cancel", task="b"),
        e.TasksCancelled(tasks=("b",)),
        e.TasksSkipped(tasks=("c",), because="b"),
    ]


def test_a_retry_takes_along_what_was_skipped_because_of_it() -> None:
    desk = Desk(failed())
    events, request = desk.ask("retry", "a")
    assert events[-1] == e.TasksRetried(tasks=("a", "b", "c"))
    assert request.state == "taken"
    assert desk.state.phase is RunPhase.ACTIVE


def test_a_retry_takes_along_what_it_stands_on() -> None:
    events, _ = Desk(failed()).ask("retry", "c")
    assert events[-1] == e.TasksRetried(tasks=("a", "b", "c"))


def test_a_retry_of_everything_leaves_what_is_done() -> None:
    events, _ = Desk(failed()).ask("retry")
    assert events[-1] == e.TasksRetried(tasks=("a", "b", "c"))


REFUSALS: list[tuple[str, Bench, str, str]] = [
    ("pause", failed(), "", "run night is finished"),
    ("cancel", failed(), "", "run night is finished"),
    ("resume", active(), "", "run night is active, not paused"),
    ("cancel", active(), '["a"]', "task a has ended: done"),
    ("cancel", active(), '["zzz"]', "run night has no task zzz"),
    ("retry", active(), '["d"]', "task d is ready; only what failed, was cancelled or skipped can be retried"),
    ("retry", failed(), '["a", "d"]', "task d is done; only what failed"),
    ("retry", active(), "", "run night has no failed, cancelled or skipped task"),
    ("praise", active(), "", "a run does not understand 'praise'"),
    ("approve", active(), "", "a decision names its tasks"),
    ("approve", active(), '["a", "b"]', "task a has no candidate to decide about: it is done"),
    ("revise", active(), "", "a revision names one task"),
    ("revise", active(), '{"tasks":["a","b"],"text":"more"}', "a revision names one task"),
    ("retry", active(), '["a"', "a request names tasks as a JSON list of ids"),
    ("retry", active(), "[1.5]", "a request names tasks as a JSON list of ids"),
    ("cancel", active(), "[]", "a request for some tasks names none"),
]


@pytest.mark.parametrize(("kind", "bench", "body", "why"), REFUSALS, ids=[f"{r[0]} {r[2]}" for r in REFUSALS])
def test_a_refusal_says_why_and_changes_nothing(kind: str, bench: Bench, body: str, why: str) -> None:
    desk = Desk(bench)
    events, request = desk.ask(kind, body=body)
    [refused] = events
    assert isinstance(refused, e.RequestRefused)
    assert refused.reason == request.answer
    assert request.state == "refused"
    assert request.answer.startswith(why)


def test_a_task_that_the_plan_lost_is_not_known() -> None:
    bench = Bench(task("a"), task("b"))
    bench.record(e.AttemptQueued(task="a", attempt=1, slot=0))
    bench.record(e.PlanRevised(removed=("a",)))
    for kind in ("cancel", "retry"):
        _, request = Desk(bench).ask(kind, "a")
        assert (request.state, request.answer) == ("refused", "run night has no task a")


def left(number: int, *, files: int = 1) -> Left:
    """What attempt `number` left."""
    return Left(base="b", tree=f"t{number}", candidate=f"c{number}", commit=f"k{number}", ref=f"r{number}", files=files)


def made(outcome: Outcome) -> Bench:
    """A task whose first attempt ended so, with retries left for none."""
    bench = Bench(task("a"))
    bench.fill()
    bench.end("a", outcome)
    return bench


def test_what_succeeded_is_approved_rejected_and_merged() -> None:
    desk = Desk(made(msgspec.structs.replace(OK, left=left(1))))
    assert desk.state.task("a").review is Review.WAITING
    for kind, decision in (("approve", "approved"), ("reject", "rejected"), ("merged", "merged")):
        events, request = desk.ask(kind, "a")
        assert e.TaskReviewed(task="a", attempt=1, decision=decision) in events  # type: ignore[arg-type]
        assert request.state == "taken"
        assert desk.state.task("a").review == decision
    _, request = desk.ask("reject", "a")
    assert (request.state, request.answer) == ("refused", "what task a made is merged already")


def test_what_failed_and_left_something_can_only_be_rejected() -> None:
    desk = Desk(made(msgspec.structs.replace(BAD, left=left(1))))
    for kind in ("approve", "merged"):
        assert desk.ask(kind, "a")[1].answer == "task a has no candidate to decide about: it is failed"
    events, _ = desk.ask("reject", "a")
    assert e.TaskReviewed(task="a", attempt=1, decision="rejected") in events
    assert desk.state.task("a").review is Review.REJECTED


def test_a_decision_is_about_one_attempt_and_not_about_the_next() -> None:
    bench = made(msgspec.structs.replace(BAD, left=left(1)))
    bench.record(e.TaskReviewed(task="a", attempt=1, decision="rejected"))
    bench.record(e.TasksRetried(tasks=("a",)))
    bench.fill()
    bench.end("a", msgspec.structs.replace(BAD, left=left(2)))
    assert bench.state.task("a").review is None


def test_what_changed_nothing_is_not_decided_about() -> None:
    desk = Desk(made(msgspec.structs.replace(OK, left=left(1, files=0))))
    assert desk.ask("approve", "a")[1].answer == "task a changed nothing: there is nothing to decide about"
