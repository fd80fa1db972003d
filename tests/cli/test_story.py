"""`budwood story`: events as lines."""

from typing import get_args

import msgspec
from tests.support.program import call, golden, in_terminal
from tests.support.told import Told

from budwood._core import events as e
from budwood._core.model import AttemptError, AttemptPhase, RunSettings, TaskSpec
from budwood._core.scores import Judgement
from budwood.cli.sentences import sentence

EVERY: tuple[e.Event, ...] = (
    e.RunCreated(run="r", name="night", settings=RunSettings(), made_by="0.1.0"),
    e.TasksAdded(tasks=(TaskSpec(id=1, run="a"), TaskSpec(id=2, run="b")), more=True),
    e.AskingEnded(asks=2, reason="max_depth"),
    e.CandidatesJudged(
        ask=2,
        judgements=(
            Judgement(task="a", decision="promoted"),
            Judgement(task="b", decision="promoted"),
            Judgement(task="c", decision="pruned"),
        ),
    ),
    e.CandidatesJudged(ask=3, judgements=(Judgement(task="c", decision="chosen", why="the best"),)),
    e.WindowFull(ask=3, task="a"),
    e.PlanRevised(added=(TaskSpec(id="x"),), changed=(TaskSpec(id="y"),), removed=("z",)),
    e.SettingsChanged(settings=RunSettings(slots=9), changed=("slots",)),
    e.DriverStarted(driver="pid 1", fence=3),
    e.DriverSeen(),
    e.DriverStopped(reason="asked to stop"),
    e.RunAccounted(done=1, failed=2, skipped=3, cancelled=4, adopted=5, requeued=6, not_started=7, planned=28),
    e.AttemptQueued(task="a", attempt=2, slot=1, retry=1, gpus=("0",)),
    e.AttemptStarted(task="a", attempt=2, pid=5, began_at_ms=1),
    e.AttemptScoring(task="a", attempt=2),
    e.AttemptAdopted(task="a", attempt=2),
    e.AttemptEnded(
        task="a",
        attempt=2,
        phase=AttemptPhase.TIMED_OUT,
        counts=False,
        error=AttemptError(type="timeout", message="too slow", attempt=2, max_retries=3, will_retry=True),
        backoff_s=2.0,
    ),
    e.TasksSkipped(tasks=("b", "c"), because="a"),
    e.TasksCancelled(tasks=("b",)),
    e.TasksRetried(tasks=("b",)),
    e.TaskReviewed(task="b", attempt=1, decision="rejected", text="it is too much"),
    e.TaskReviewed(task="b", attempt=1, decision="merged", text="into main"),
    e.TaskReviewed(task="b", attempt=1, decision="approved"),
    e.TaskRevised(task="b", attempt=1, text="smaller, please"),
    e.MergeAsked(into="main", partial=True),
    e.LanesJoined(
        lines=(("lane x", "c1"), ("task b", "c2")),
        onto="0123456789abcdef",
        joints=(e.Joint(lines=("lane x",), commit="c3"),),
        clashes=(e.Clash(line="task b", head="c2", onto="c3", files=("f",)),),
    ),
    e.ErrandAdded(task=TaskSpec(id="verify-1", run="true", description="verify lane x")),
    e.LanesMerged(lines=(("lane x", "c1"),), commit="0123456789abcdef", branch="budwood/night", into="main"),
    e.TargetMoved(branch="main", commit="0123456789abcdef"),
    e.MergeStopped(into="main", reason="it is rebased"),
    e.LaneHeld(line="lane x", head="c1", reason="verify fails with it"),
    e.LaneConflicted(line="task b", head="c2", onto="c3", branch="task-b", path="w1", files=("f",), reason="marks"),
    e.LaneResolved(line="task b", commit="0123456789abcdef", by="person"),
    e.TaskCreated(task=TaskSpec(id="d", run="d"), parent="b"),
    e.TaskUpdated(task=TaskSpec(id="d", run="d --again")),
    e.QuestionAsked(task="b", attempt=1, question=1, text="which one?"),
    e.QuestionAnswered(task="b", attempt=1, question=1, text="the blue one"),
    e.ProgressReported(task="b", attempt=1, text="half of it", percent=50.0),
    e.RunPaused(kind="disk", reason="the disk is full"),
    e.RunWaiting(reason="ready tasks in back-off: 2", until_ms=5),
    e.RunResumed(),
    e.RunEnded(),
    e.External(cause="timeout", detail="too slow", task="a", attempt=2),
    e.RequestTaken(request=1, kind="pause", detail="paused"),
    e.RequestRefused(request=2, kind="retry", reason="it has not failed"),
)


ACCOUNTED = (
    "accounted for all 28 tasks: 1 done, 2 failed, 3 skipped, 4 cancelled, 5 adopted, 6 to run again, 7 not started"
)


def test_every_kind_of_event_has_a_sentence() -> None:
    assert {type(event) for event in EVERY} == set(get_args(e.Event))
    assert [sentence(event) for event in EVERY] == [
        "run night was created by budwood 0.1.0",
        "2 tasks added: 1, 2, more to come",
        "the strategy wants no more tasks, after 2 answers: max_depth",
        "promoted: a, b; pruned: c",
        "c was chosen: the best",
        "slots wait: answer 3 of the strategy needs the end of a",
        "the plan was edited: added x, changed y, removed z",
        "settings changed: slots is now 9",
        "pid 1 began to drive (fence 3)",
        "the driver drives",
        "the driver left: asked to stop",
        ACCOUNTED,
        "a: attempt 2 goes to slot 1, retry 1, gpus 0",
        "a: attempt 2 runs (pid 5)",
        "a: what attempt 2 made is being scored",
        "a: attempt 2 was still running and was taken over",
        "a: attempt 2 timed out after 0 ms: too slow; it does not count; tried again in 2.0 s",
        "skipped because of a: b, c",
        "cancelled: b",
        "wanted again: b",
        "b: attempt 1 was rejected: it is too much",
        "b: attempt 1 was merged into main",
        "b: attempt 1 was approved",
        "b: attempt 1 is gone on with: smaller, please",
        "finished lanes are to be merged into main, unfinished ones too",
        "merged onto 0123456789ab, in no branch yet: lane x; in conflict: task b",
        "verify-1 was added: verify lane x",
        "lane x merged: budwood/night and main at 0123456789ab",
        "main has moved to 0123456789ab: merged again",
        "main does not move: it is rebased",
        "lane x is broken: verify fails with it",
        "task b is in conflict in f (marks); to be solved in w1",
        "the conflicts of task b are solved (person): 0123456789ab",
        "d was created by b: d",
        "d was changed: d --again",
        "b: attempt 1 asks: which one?",
        "b: attempt 1 was answered: the blue one",
        "b: attempt 1 says: 50 %, half of it",
        "the run paused (disk): the disk is full",
        "the run waits: ready tasks in back-off: 2",
        "the run goes on",
        "every task has ended",
        "a: decided from outside: timeout (too slow)",
        "request 1: pause: paused",
        "request 2: retry: refused: it has not failed",
    ]


def test_a_run_is_told_line_by_line(night: Told) -> None:
    lines = call("story", cwd=night.root).out.splitlines()
    assert len(lines) == night.state.number
    assert lines[0] == "1 2026-09-21T14:13:21.000Z run night was created by budwood 0.1.0"
    assert lines[2] == "3 2026-09-21T14:13:23.000Z 7 tasks added: build, test, deploy, docs, site and 2 more"


def test_the_story_of_a_task_leaves_the_others_out(over: Told) -> None:
    assert call("story", "night", "deploy", cwd=over.root).out == golden("""
    3 2026-09-21T14:13:23.000Z deploy was added: ./deploy --now
    13 2026-09-21T14:13:33.000Z skipped because of test: deploy, end
    """)


def test_a_terminal_shows_the_time_of_day_and_wraps(night: Told) -> None:
    shown = in_terminal("story", cwd=night.root, columns=60, env={"NO_COLOR": "1", "TZ": "UTC"})[1].splitlines()
    assert shown[0] == "Monday, 2026-09-21"
    assert shown[1] == "    1  14:13:21  run night was created by budwood 0.1.0"
    assert max(map(len, shown)) <= 60
    assert shown[3:5] == [
        "    3  14:13:23  7 tasks added: build, test, deploy, docs,",
        "                 site and 2 more",
    ]


def test_json_lines_have_the_public_shape_of_events(over: Told) -> None:
    lines = call("story", "--json", "--after", "3", cwd=over.root).raw.splitlines()
    first = msgspec.json.decode(lines[0])
    assert first == {
        "number": 4,
        "at_ms": 1_790_000_004_000,
        "event": "attempt_queued",
        "version": 1,
        "task": "build",
        "attempt": 1,
        "slot": 0,
    }
    assert [msgspec.json.decode(line)["number"] for line in lines] == list(range(4, over.state.number + 1))
