"""Events: every kind there and back, whom it is about, and the one public shape."""

from typing import Any, get_args

import msgspec
import pytest

from budwood._core import events as e
from budwood._core.model import (
    AttemptError,
    AttemptPhase,
    Errand,
    LaneSpec,
    Left,
    Measure,
    RunSettings,
    TaskSpec,
    Told,
    Usage,
)
from budwood._core.scores import Judgement
from budwood.errors import UnknownEvent

SPEC = TaskSpec(id=7, run=("echo", "ü\0"), after=("a", 8), prefer_after=(9,), env={"K": "v"}, lane="x", gpus=1)
EVENTS: list[e.Event] = [
    e.RunCreated(run="abc", name="night", settings=RunSettings(goal="∞", groups={"g": 2}, gpus=("0",)), cwd="/a b"),
    e.TasksAdded(tasks=(SPEC, TaskSpec(id="b", run="true")), lanes=(LaneSpec(id="x", after=(3,)),), more=True),
    e.AskingEnded(asks=3, reason="max_depth"),
    e.CandidatesJudged(ask=2, judgements=(Judgement(task="a", decision="promoted", rank=0.5, why="best"),)),
    e.WindowFull(ask=3, task="a"),
    e.PlanRevised(added=(SPEC,), changed=(TaskSpec(id="c", run="c"),), removed=("d", 5), lanes=(LaneSpec(id=1),)),
    e.SettingsChanged(settings=RunSettings(slots=3), changed=("slots",)),
    e.DriverStarted(driver="pid 7 on host", fence=3),
    e.DriverStopped(reason="asked to stop"),
    e.DriverSeen(),
    e.RunAccounted(done=1, failed=2, skipped=3, cancelled=4, adopted=5, requeued=6, not_started=7, planned=28),
    e.AttemptQueued(task=7, attempt=2, slot=1, retry=1, gpus=("0", "1"), agent="claude"),
    e.AttemptStarted(task="a", attempt=1, pid=77, began_at_ms=5),
    e.AttemptAdopted(task="a", attempt=1),
    e.AttemptEnded(
        task="a",
        attempt=1,
        phase=AttemptPhase.TIMED_OUT,
        counts=False,
        signal=9,
        pid=7,
        began_at_ms=1,
        error=AttemptError(type="timeout", message="ü", attempt=1, max_retries=2, will_retry=True, timed_out=True),
        backoff_s=1.5,
        usage=Usage(cost_usd=0.5, tokens=7),
        measure=Measure(wall_s=1.0, survivors=("7 x",)),
        result=msgspec.Raw(b'{"score":[1.5]}'),
    ),
    e.AttemptEnded(
        task="a",
        attempt=2,
        phase=AttemptPhase.FAILED,
        left=Left(base="b", tree="t", candidate="c", commit="k", ref="refs/x", files=2, not_kept=("big",)),
        told=Told(agent="claude", outcome="limit", model="haiku", session="s", spent=(1, 2, 3), list_usd=0.5),
        until_ms=9,
        check_said="1 failed",
    ),
    e.TasksSkipped(tasks=("b", 3), because=0),
    e.TasksCancelled(tasks=("b",), whole_run=True),
    e.TasksRetried(tasks=("b", 4)),
    e.TaskReviewed(task="b", attempt=2, decision="rejected", text="too much"),
    e.TaskRevised(task=4, attempt=1, text="smaller, please"),
    e.MergeAsked(into="main", squash=True, partial=True, resolve=("claude",)),
    e.LanesJoined(
        lines=(("lane x", "c1"), ("task b", "c2")),
        onto="c0",
        joints=(e.Joint(lines=("lane x",), commit="c3", shadow="c4"),),
        clashes=(e.Clash(line="task b", head="c2", onto="c3", files=("f",)),),
        target="c5",
    ),
    e.ErrandAdded(task=TaskSpec(id="verify-1", run="true", errand=Errand(kind="verify", start="c3"))),
    e.LanesMerged(lines=(("lane x", "c1"),), commit="c3", branch="budwood/r", into="main", tasks=("a", 7)),
    e.TargetMoved(branch="main", commit="c6"),
    e.MergeStopped(into="main", reason="it is rebased", hint="later"),
    e.LaneHeld(line="lane x", head="c1", reason="verify fails", task="verify-1"),
    e.LaneConflicted(line="task b", head="c2", onto="c3", branch="task-b", path="w1", files=("f",), reason="marks"),
    e.LaneResolved(line="task b", commit="c7", by="rerere"),
    e.TaskCreated(task=SPEC, parent="a"),
    e.TaskUpdated(task=TaskSpec(id="c", run="c", priority=3)),
    e.QuestionAsked(task="a", attempt=1, question=2, text="which one?"),
    e.QuestionAnswered(task="a", attempt=1, question=2, text="the blue one"),
    e.AttemptScoring(task="a", attempt=1),
    e.ProgressReported(task="a", attempt=1, text="half of it", percent=50.0),
    e.RunPaused(kind="budget", reason="spent"),
    e.RunWaiting(reason="back-off", until_ms=9),
    e.RunResumed(),
    e.RunEnded(cancelled=True),
    e.External(cause="timeout", detail="x", task=0, attempt=1),
    e.RequestTaken(request=1, kind="pause", detail="ok"),
    e.RequestRefused(request=2, kind="retry", reason="no"),
]
ABOUT: dict[str, tuple[object, ...]] = {
    "tasks_added": (7, "b"),
    "window_full": ("a",),
    "plan_revised": (7, "c", "d", 5),
    "attempt_queued": (7,),
    "attempt_started": ("a",),
    "attempt_adopted": ("a",),
    "attempt_ended": ("a",),
    "tasks_skipped": ("b", 3, 0),
    "tasks_cancelled": ("b",),
    "tasks_retried": ("b", 4),
    "task_reviewed": ("b",),
    "task_revised": (4,),
    "errand_added": ("verify-1",),
    "lanes_merged": ("a", 7),
    "lane_held": ("verify-1",),
    "task_created": (7,),
    "task_updated": ("c",),
    "question_asked": ("a",),
    "question_answered": ("a",),
    "progress_reported": ("a",),
    "attempt_scoring": ("a",),
    "candidates_judged": ("a",),
    "external": (0,),
}
each_kind = pytest.mark.parametrize("event", EVENTS, ids=[e.kind_of(event) for event in EVENTS])


def test_there_is_a_sample_of_every_kind() -> None:
    assert {type(event) for event in EVENTS} == set(get_args(e.Event)) == set(e.KINDS.values())


@each_kind
def test_an_event_comes_back_as_it_was(event: e.Event) -> None:
    recorded = e.Recorded(12, 1_700_000_000_123, event)
    raw = e.encode(recorded)
    assert (raw.number, raw.at_ms, raw.kind, raw.version) == (12, 1_700_000_000_123, e.kind_of(event), 1)
    assert e.decode(raw) == recorded
    assert raw.kind.encode() in raw.body


@each_kind
def test_an_event_knows_whom_it_is_about(event: e.Event) -> None:
    assert e.about(event) == ABOUT.get(e.kind_of(event), ())


@each_kind
def test_the_public_shape_has_place_time_kind_and_version(event: e.Event) -> None:
    shape = e.as_json(e.Recorded(3, 4, event))
    assert {"number": 3, "at_ms": 4, "event": e.kind_of(event), "version": 1}.items() <= shape.items()
    assert "type" not in shape
    body = {name: value for name, value in shape.items() if name not in ("number", "at_ms", "event", "version")}
    again = msgspec.json.encode({"type": shape["event"], **body})
    assert e.decode(e.Raw(3, 4, e.kind_of(event), 1, again)).event == event


def test_an_external_event_need_not_be_about_a_task() -> None:
    assert e.about(e.External(cause="pause")) == ()


def test_defaults_take_no_room() -> None:
    assert e.encode(e.Recorded(1, 1, e.RunResumed())).body == b'{"type":"run_resumed"}'


def raw(kind: str, version: int, body: bytes) -> e.Raw:
    return e.Raw(5, 0, kind, version, body)


def test_an_unknown_kind_is_named() -> None:
    with pytest.raises(UnknownEvent, match="event 5 is of kind 'dream_dreamt'") as caught:
        e.decode(raw("dream_dreamt", 1, b"{}"))
    assert caught.value.hint is not None


def test_a_version_from_the_future_is_refused() -> None:
    with pytest.raises(UnknownEvent, match=r"event 5 \(run_resumed\) has version 9; this budwood knows version 1"):
        e.decode(raw("run_resumed", 9, b'{"type":"run_resumed"}'))


def test_an_old_version_is_brought_up_to_date_step_by_step() -> None:
    def named(body: dict[str, Any]) -> dict[str, Any]:
        return {"type": "run_paused", "sort": body["why"], "reason": "unknown"}

    def renamed(body: dict[str, Any]) -> dict[str, Any]:
        body["kind"] = body.pop("sort")
        return body

    steps: dict[tuple[str, int], e.Upgrade] = {("run_paused", -1): named, ("run_paused", 0): renamed}
    old = raw("run_paused", -1, b'{"type":"run_paused","why":"budget"}')
    assert e.decode(old, upgrades=steps).event == e.RunPaused(kind="budget", reason="unknown")


def test_an_old_version_without_a_way_up_is_refused() -> None:
    with pytest.raises(UnknownEvent, match="has version 0"):
        e.decode(raw("run_paused", 0, b'{"type":"run_paused"}'))
    steps: dict[tuple[str, int], e.Upgrade] = {("run_paused", -1): lambda body: body}
    with pytest.raises(UnknownEvent, match="has version -1"):
        e.decode(raw("run_paused", -1, b'{"type":"run_paused"}'), upgrades=steps)


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"type":"attempt_queued","task":"a"}', b'{"type":"nothing"}'])
def test_a_body_that_cannot_be_read_is_an_error_that_names_the_event(version: int, body: bytes) -> None:
    steps: dict[tuple[str, int], e.Upgrade] = {("attempt_queued", 0): lambda found: found}
    with pytest.raises(UnknownEvent, match=r"event 5 \(attempt_queued\) cannot be read"):
        e.decode(raw("attempt_queued", version, body), upgrades=steps)


def test_an_unknown_state_is_an_error() -> None:
    body = b'{"type":"attempt_ended","task":"a","attempt":1,"state":"dreaming"}'
    with pytest.raises(UnknownEvent, match="dreaming"):
        e.decode(raw("attempt_ended", 1, body))
