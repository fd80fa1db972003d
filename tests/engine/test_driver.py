"""Whole runs: what a driver does, what it writes and when, and what the next one makes of what it left."""

from contextlib import suppress
from itertools import count

import pytest
from tests.engine.stage import RUN, Killed, Stage, at, layered, started, task

from budwood._core import events as e
from budwood._core.model import RunPhase, RunSettings
from budwood.engine.verdict import Exit
from budwood.errors import StoreUnwritable
from budwood.stores.base import Commit, Lease
from budwood.stores.memory import MemoryStore, MemoryWorld

pytestmark = pytest.mark.timeout(60)


def test_a_run_ends_well() -> None:
    stage = Stage(task("a"), task("b", "a"), task("c"))
    verdict = stage.drive()
    assert (verdict.phase, verdict.exit_code) == (RunPhase.FINISHED, Exit.GOAL_MET)
    assert verdict.counts["done"] == verdict.tasks == verdict.attempts == 3
    assert sorted(stage.machine.forgotten) == ["0.1", "1.1", "2.1"]
    assert MemoryStore(stage.world).log(RUN, 0, 1) == b"fine\n"
    assert MemoryStore(stage.world).holder(RUN) is None
    stage.check_sound()


def test_an_attempt_gets_its_command_place_and_names() -> None:
    stage = Stage(task("a"), settings=RunSettings(gpus=("0", "1"), grace_s=2.5, output_bytes=99, contain="namespace"))
    stage.drive()
    [work] = stage.machine.works
    assert work.steps[0].argv == ("ok",)
    assert work.cwd == work.env["BUDWOOD_WORKSPACE"] == "/project"
    assert (work.env["BUDWOOD_RUN"], work.env["BUDWOOD_TASK"], work.env["BUDWOOD_ATTEMPT"]) == ("night", "a", "1")
    assert work.env["CUDA_VISIBLE_DEVICES"] == ""
    assert (work.grace_s, work.output_bytes, work.contain) == (2.5, 99, "namespace")


def test_failures_are_retried_and_then_skip_what_stands_on_them() -> None:
    stage = Stage(task("a", run="bad", retries=2), task("b", "a"), task("c"))
    verdict = stage.drive()
    assert (verdict.phase, verdict.exit_code) == (RunPhase.FINISHED, Exit.NOT_MET)
    assert (verdict.failed, verdict.skipped) == (("a",), ("b",))
    assert [work for work in stage.machine.ran if work.startswith("0.")] == ["0.1", "0.2", "0.3"]
    stage.check_sound()


def test_a_long_back_off_is_waited_for() -> None:
    stage = Stage(task("a", run="bad", retries=1), settings=RunSettings(seed=16, backoff_s=1.0))
    stage.drive()
    assert len(stage.of_kind(e.RunWaiting)) == 1
    first, second = (each for each in stage.heard if isinstance(each.event, e.AttemptQueued))
    [told] = [each.event for each in stage.heard if isinstance(each.event, e.AttemptEnded) and each.event.backoff_s]
    assert second.at_ms - first.at_ms >= told.backoff_s * 1000 - 2


def test_any_number_of_slots_decides_the_same() -> None:
    logs = []
    for slots in (1, 2, 8):
        stage = layered(slots=slots)
        stage.drive()
        stage.check_sound()
        logs.append(stage.decisions())
    assert logs[0] == logs[1] == logs[2]


class Watched(MemoryStore):
    """A store that keeps its commits, and refuses one of them."""

    def __init__(self, world: MemoryWorld, *, refuse: int = -1) -> None:
        super().__init__(world)
        self.commits: list[Commit] = []
        self._refuse = refuse

    def append(self, lease: Lease, commit: Commit) -> None:
        if len(self.commits) == self._refuse:
            raise StoreUnwritable("the disk is full; nothing was written", hint="free some space, then resume")
        super().append(lease, commit)
        self.commits.append(commit)


def kinds(commit: Commit) -> list[str]:
    return [e.kind_of(recorded.event) for recorded in commit.events]


def test_each_turn_is_one_commit() -> None:
    stage = Stage(*(task(n) for n in range(5)), slots=5)
    store = Watched(stage.world)
    stage.drive(store=store)
    assert [kinds(commit) for commit in store.commits] == [
        ["run_created", "driver_started", "tasks_added"],
        ["attempt_queued"] * 5,
        [*["attempt_started", "attempt_ended"] * 5, "run_ended"],
        ["driver_stopped"],
    ]
    assert len(store.commits[2].logs) == 5


def test_that_an_attempt_began_is_written_soon_though_nothing_else_happens() -> None:
    stage = Stage(task("a", run="hold"))
    store = Watched(stage.world)
    stage.drive(store=store, on=started("a", lambda: stage.machine.end("0.1")))
    assert [kinds(commit) for commit in store.commits][2:4] == [["attempt_started"], ["attempt_ended", "run_ended"]]


def test_the_listener_hears_every_event_once_and_in_order() -> None:
    stage = layered()
    stage.drive(on=at(e.AttemptEnded, stage.leave))
    stage.drive()
    assert stage.heard == list(MemoryStore(stage.world).read(RUN))


def test_nothing_is_told_or_done_before_it_is_durable() -> None:
    stage = Stage(task("a"), task("b", "a"))
    done: list[int] = []

    def probe(point: str) -> None:
        if point.startswith("before ") and point != "before commit":
            done.append(len(stage.events()))
            assert len(stage.heard) == len(stage.events())

    stage.drive(probe=probe)
    assert len(done) == 4


def test_a_store_that_refuses_one_commit_leaves_a_run_that_can_be_resumed() -> None:
    plain = layered()
    plain.drive()
    for refuse in count():
        stage = layered()
        store = Watched(stage.world, refuse=refuse)
        with suppress(StoreUnwritable):
            stage.drive(store=store)
            break  # a commit may have more in it, so that not every run has as many: this one had no more
        assert len(store.commits) == refuse
        assert MemoryStore(stage.world).holder(RUN) is None
        stage.drive()
        assert stage.decisions() == plain.decisions(), f"commit {refuse}"
        stage.check_sound()
    assert refuse > 4  # twelve tasks in three slots are four rounds at least, and each is a commit


def test_killed_at_every_boundary_it_resumes_to_the_same_decisions() -> None:
    plain = layered()
    points: list[str] = []
    plain.drive(probe=points.append)
    died = 0
    for number in range(len(points)):
        stage = layered()
        left = number

        def probe(_: str) -> None:
            nonlocal left
            left -= 1
            if left < 0:
                raise Killed

        try:
            stage.drive(probe=probe)
        except Killed:
            died += 1
        stage.drive()
        assert stage.decisions() == plain.decisions(), f"{number} {points[number]}"
        stage.check_sound()
    assert died > 0.8 * len(points)  # a turn may have more in it, so not every run has as many points


def test_a_finished_run_is_left_as_it_is() -> None:
    stage = Stage(task("a"))
    stage.drive()
    verdict = stage.drive()
    assert verdict.exit_code == Exit.GOAL_MET
    assert dict(stage.machine.ran) == {"0.1": 1}
    assert stage.state().phase is RunPhase.FINISHED
