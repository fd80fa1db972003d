"""Where a lane stands: from where its tasks do, and through the events of the merge queue."""

import pytest
from msgspec.structs import replace
from tests.core.bench import OK, Bench
from tests.core.bench import task as spec

from budwood._core.events import (
    Clash,
    ErrandAdded,
    Joint,
    LaneConflicted,
    LaneHeld,
    LanesJoined,
    LanesMerged,
    RunEnded,
    TargetMoved,
    TaskRevised,
    decode,
)
from budwood._core.landing import members
from budwood._core.lane_phase import lane_phase, phase_of
from budwood._core.model import (
    Errand,
    LanePhase,
    Left,
    Review,
    RunSettings,
    TaskPhase,
    TaskSpec,
    WorkspaceTerms,
)
from budwood._core.replay import fold
from budwood._core.state import TaskState

DONE, FAILED = TaskPhase.DONE, TaskPhase.FAILED
SETTINGS = RunSettings(slots=4, review="auto", workspace=WorkspaceTerms(kind="clone", base="b0"))


def task(phase: TaskPhase, review: Review | None = None, *, error_type: str = "") -> TaskState:
    return TaskState(number=0, spec=TaskSpec(id="a"), phase=phase, review=review, error_type=error_type)


@pytest.mark.parametrize(
    ("tasks", "phase"),
    [
        ([], LanePhase.OPEN),
        ([task(DONE, Review.MERGED), task(TaskPhase.READY)], LanePhase.OPEN),
        ([task(DONE, Review.APPROVED), task(TaskPhase.ACTIVE)], LanePhase.OPEN),
        ([task(DONE, Review.APPROVED), task(DONE, Review.WAITING)], LanePhase.WAITING),
        ([task(DONE, Review.MERGED), task(DONE, Review.REJECTED)], LanePhase.WAITING),
        ([task(DONE)], LanePhase.WAITING),
        ([task(DONE, Review.MERGED), task(DONE)], LanePhase.MERGED),
        ([task(DONE, Review.MERGED), task(FAILED, error_type="check")], LanePhase.HELD),
        ([task(TaskPhase.ACTIVE), task(TaskPhase.SKIPPED)], LanePhase.HELD),
        ([task(FAILED, error_type="conflict"), task(TaskPhase.SKIPPED)], LanePhase.CONFLICT),
    ],
)
def test_a_lane_stands_where_its_tasks_do(tasks: list[TaskState], phase: LanePhase) -> None:
    assert phase_of(tasks) is phase


def finished(*after: str) -> Bench:
    """Make a run of two lanes, each of which has come to something; the task of the second comes after these."""
    bench = Bench(spec("a", lane="x"), spec("b", *after, lane="y"), lanes=("x", "y"), settings=SETTINGS)
    for name in "ab":
        bench.fill()
        left = Left(base="b0", tree=f"t-{name}", candidate=f"c-{name}", commit=f"k-{name}", ref=f"r-{name}", files=1)
        bench.end(name, replace(OK, left=left))
    return bench


def phases(bench: Bench) -> str:
    """Say where the lanes stand, also for a driver that has only the events."""
    again = fold(decode(raw) for raw in bench.log)
    told = [[lane_phase(state, *each).value for each in members(state).items()] for state in (bench.state, again)]
    assert told[0] == told[1]
    return " ".join(told[0])


def joined(bench: Bench, *lines: str, clashes: tuple[Clash, ...] = ()) -> None:
    """Merge lines, in no branch yet."""
    tips = tuple((line, bench.state.heads[line]) for line in lines)
    fits = [line for line in lines if line not in {clash.line for clash in clashes}]
    joints = tuple(Joint(lines=(line,), commit=f"with {line}") for line in fits)
    bench.record(LanesJoined(lines=tips, onto="b0", joints=joints, clashes=clashes))


def errand(bench: Bench, name: str, kind: str, line: str = "") -> None:
    about = Errand(kind="verify" if kind == "verify" else "resolve", start="with lane x", line=line)
    bench.record(ErrandAdded(task=TaskSpec(id=name, run="true", errand=about)))
    bench.fill()


def test_what_is_merged_and_verified_is_merging_until_it_is_in_a_branch() -> None:
    bench = finished()
    assert phases(bench) == "waiting waiting"
    joined(bench, "lane x", "lane y")
    assert phases(bench) == "merging merging"
    errand(bench, "verify-1", "verify")
    bench.end("verify-1")
    assert phases(bench) == "merging merging"
    bench.record(TargetMoved(branch="main", commit="m"))
    assert phases(bench) == "waiting waiting"
    joined(bench, "lane x", "lane y")
    heads = tuple(bench.state.heads.items())
    bench.record(LanesMerged(lines=heads, commit="with lane y", branch="budwood/night", tasks=("a", "b")))
    assert phases(bench) == "merged merged"


def test_what_does_not_pass_is_broken_and_the_rest_goes_on() -> None:
    bench = finished()
    joined(bench, "lane x", "lane y")
    bench.record(LaneHeld(line="lane y", head=bench.state.heads["lane y"], reason="it fails"))
    assert phases(bench) == "merging broken"
    joined(bench, "lane x")
    assert phases(bench) == "merging broken"
    bench.record(RunEnded())
    assert phases(bench) == "waiting broken"
    bench.record(TaskRevised(task="b", attempt=1, text="mend it"))
    assert phases(bench).split()[1] == "open"


def test_a_conflict_is_merging_while_nobody_is_asked_and_while_an_agent_tries() -> None:
    bench = finished()
    clash = Clash(line="lane y", head=bench.state.heads["lane y"], onto="with lane x", files=("f",))
    joined(bench, "lane x", "lane y", clashes=(clash,))
    merged = (("lane x", bench.state.heads["lane x"]),)
    bench.record(LanesMerged(lines=merged, commit="with lane x", branch="budwood/night", tasks=("a",)))
    assert phases(bench) == "merged merging"
    errand(bench, "resolve-y", "resolve", line="lane y")
    assert phases(bench) == "merged merging"
    asked = LaneConflicted(line="lane y", head=clash.head, onto=clash.onto, branch="lane-y", path="/w", files=("f",))
    bench.record(asked)  # as after an agent that failed, and another that begins where a person was asked
    assert phases(bench) == "merged merging"
    bench.end("resolve-y")
    assert phases(bench) == "merged conflict"


def test_a_lane_that_waits_for_the_conflict_of_another_is_not_being_merged() -> None:
    bench = finished("a")
    x, y = (Clash(line=f"lane {n}", head=bench.state.heads[f"lane {n}"], onto="o", files=("f",)) for n in "xy")
    joined(bench, "lane x", "lane y", clashes=(x, y))
    assert phases(bench) == "merging waiting"
    bench.record(LaneConflicted(line="lane x", head=x.head, onto="o", branch="lane-x", path="/w", files=("f",)))
    assert phases(bench) == "conflict waiting"
