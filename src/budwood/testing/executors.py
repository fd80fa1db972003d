"""The proof that an executor keeps its promises, and an executor without processes for tests of what stands above.

    class TestMyExecutor(ExecutorConformance):
        @pytest.fixture
        def world(self, tmp_path): return MyWorld(tmp_path)

Knows the contract of executors; must not know any real one.
"""

from collections.abc import Callable
from contextlib import suppress

import pytest

from budwood._core.model import AttemptPhase
from budwood.errors import BudwoodError
from budwood.executors.base import Recovered
from budwood.testing.executor_calls import CallRecoveryRules, CallRules
from budwood.testing.executor_steps import StepRules
from budwood.testing.executor_world import CallKind, ExecutorRules, ExecutorWorld, Kind, Post
from budwood.testing.fake_executor import Ending, FakeExecutor, FakeMachine, failed, raised, returned, succeeded

__all__ = [
    "CallKind",
    "Ending",
    "ExecutorConformance",
    "ExecutorWorld",
    "FakeExecutor",
    "FakeMachine",
    "Kind",
    "Post",
    "failed",
    "raised",
    "returned",
    "succeeded",
]

Posts = Callable[[int], Post]


class RunningRules(ExecutorRules):
    """What happens to an attempt is told once, and from the loop."""

    def test_an_attempt_begins_and_ends(self, world: ExecutorWorld, post: Post) -> None:
        post.executor.start(world.work("0.1", "succeeds"))
        outcome = post.end_of("0.1")
        assert (outcome.phase, outcome.exit_code) == (AttemptPhase.SUCCEEDED, 0)
        assert post.begun_pids["0.1"] > 0
        assert world.runs_of("0.1") == 1

    def test_a_failure_says_how_it_failed(self, world: ExecutorWorld, post: Post) -> None:
        post.executor.start(world.work("0.1", "fails"))
        outcome = post.end_of("0.1")
        assert (outcome.phase, outcome.exit_code) == (AttemptPhase.FAILED, 3)
        assert outcome.error_type
        assert outcome.message

    def test_what_it_printed_comes_with_its_end(self, world: ExecutorWorld, post: Post) -> None:
        post.executor.start(world.work("0.1", "prints"))
        post.executor.start(world.work("1.1", "succeeds", slot=1))
        post.end_of("0.1")
        post.end_of("1.1")
        logs = {name: log for name, _, log in post.endings}
        assert logs == {"0.1": b"hello\n", "1.1": b""}

    def test_calls_return_before_anything_is_told(self, world: ExecutorWorld, post: Post) -> None:
        post.executor.start(world.work("0.1", "succeeds"))
        assert (post.begun_pids, post.endings) == ({}, [])
        post.end_of("0.1")
        post.begin(world.work("1.1", "holds"))
        post.executor.cancel("1.1")
        assert post.ends_of("1.1") == []
        post.end_of("1.1")

    def test_cancelling_what_was_just_started_is_told_from_the_loop(self, world: ExecutorWorld, post: Post) -> None:
        post.executor.start(world.work("0.1", "holds"))
        post.executor.cancel("0.1")
        assert post.ends_of("0.1") == []
        assert post.end_of("0.1").phase is AttemptPhase.CANCELLED

    def test_an_end_is_told_once(self, world: ExecutorWorld, post: Post) -> None:
        post.executor.start(world.work("0.1", "succeeds"))
        post.end_of("0.1")
        post.executor.start(world.work("1.1", "succeeds"))
        post.end_of("1.1")
        assert [name for name, _, _ in post.endings] == ["0.1", "1.1"]

    def test_a_slot_serves_one_attempt_after_the_other(self, world: ExecutorWorld, post: Post) -> None:
        for number in range(4):
            post.executor.start(world.work(f"{number}.1", "succeeds"))
            assert post.end_of(f"{number}.1").phase is AttemptPhase.SUCCEEDED
            post.executor.forget(f"{number}.1")
        assert [world.runs_of(f"{number}.1") for number in range(4)] == [1, 1, 1, 1]

    def test_slots_run_side_by_side(self, world: ExecutorWorld, post: Post) -> None:
        for slot in range(3):
            post.begin(world.work(f"{slot}.1", "holds", slot=slot))
        for slot in (1, 0, 2):
            world.let_go(f"{slot}.1")
            assert post.end_of(f"{slot}.1").phase is AttemptPhase.SUCCEEDED

    def test_cancelling_ends_an_attempt(self, world: ExecutorWorld, post: Post) -> None:
        post.begin(world.work("0.1", "holds"))
        post.executor.cancel("0.1")
        post.executor.cancel("0.1")
        assert post.end_of("0.1").phase is AttemptPhase.CANCELLED
        post.executor.start(world.work("1.1", "succeeds"))
        assert post.end_of("1.1").phase is AttemptPhase.SUCCEEDED
        assert len(post.ends_of("0.1")) == 1

    def test_cancelling_what_does_not_run_does_nothing(self, world: ExecutorWorld, post: Post) -> None:
        post.executor.cancel("7.1")
        post.executor.start(world.work("0.1", "succeeds"))
        post.end_of("0.1")
        post.executor.cancel("0.1")
        post.executor.forget("0.1")
        post.executor.cancel("0.1")
        post.executor.start(world.work("1.1", "succeeds"))
        assert post.end_of("1.1").phase is AttemptPhase.SUCCEEDED
        assert len(post.endings) == 2

    def test_a_time_limit_ends_an_attempt(self, world: ExecutorWorld, post: Post) -> None:
        post.executor.start(world.work("0.1", "holds", timeout_s=0.2))
        assert post.end_of("0.1").phase is AttemptPhase.TIMED_OUT


class RecoveryRules(ExecutorRules):
    """A driver dies; the next one finds out what became of each attempt, and none is run twice."""

    def test_what_runs_is_adopted_and_its_end_told_to_the_new_driver(self, world: ExecutorWorld, posts: Posts) -> None:
        work = world.work("0.1", "holds")
        posts(1).begin(work)
        assert posts(2).recover(work) == [Recovered.ADOPTED]
        assert posts(2).begun_pids == posts(1).begun_pids
        world.let_go("0.1")
        assert posts(2).end_of("0.1").phase is AttemptPhase.SUCCEEDED
        assert posts(1).endings == []
        assert world.runs_of("0.1") == 1

    def test_what_never_began_is_to_be_sent_again(self, world: ExecutorWorld, posts: Posts) -> None:
        posts(1).executor.close()
        work = world.work("0.1", "succeeds")
        assert posts(2).recover(work) == [Recovered.UNSENT]
        assert posts(2).endings == []
        posts(2).executor.start(work)
        assert posts(2).end_of("0.1").phase is AttemptPhase.SUCCEEDED
        assert world.runs_of("0.1") == 1

    def test_a_result_waits_for_the_next_driver_until_it_is_forgotten(self, world: ExecutorWorld, posts: Posts) -> None:
        work = world.work("0.1", "prints")
        posts(1).executor.start(work)
        posts(1).end_of("0.1")
        for fence in (2, 3):
            assert posts(fence).recover(work) == [Recovered.ENDED]
            [(name, outcome, log)] = posts(fence).endings
            assert (name, outcome.phase, log) == ("0.1", AttemptPhase.SUCCEEDED, b"hello\n")
        posts(3).executor.forget("0.1")
        assert world.runs_of("0.1") == 1

    def test_what_ended_without_a_driver_is_told_by_recovery(self, world: ExecutorWorld, posts: Posts) -> None:
        works = [world.work("0.1", "holds", slot=0), world.work("1.1", "holds", slot=1)]
        for work in works:
            posts(1).begin(work)
        posts(1).executor.close()
        world.let_go("1.1")
        world.let_go("0.1")
        found = posts(2).recover(*works)
        assert set(found) <= {Recovered.ADOPTED, Recovered.ENDED}  # whether it was quicker is its own business
        assert [posts(2).end_of(work.id).phase for work in works] == [AttemptPhase.SUCCEEDED] * 2
        assert [world.runs_of(work.id) for work in works] == [1, 1]

    def test_a_failure_without_a_driver_is_told_as_a_failure(self, world: ExecutorWorld, posts: Posts) -> None:
        work = world.work("0.1", "fails")
        posts(1).executor.start(work)
        posts(1).end_of("0.1")
        assert posts(2).recover(work) == [Recovered.ENDED]
        assert posts(2).ends_of("0.1")[0].exit_code == 3

    def test_an_attempt_without_a_result_is_abandoned(self, world: ExecutorWorld, post: Post) -> None:
        post.begin(world.work("0.1", "holds"))
        world.lose("0.1")
        assert post.end_of("0.1").phase is AttemptPhase.ABANDONED
        post.executor.start(world.work("0.2", "succeeds"))
        assert post.end_of("0.2").phase is AttemptPhase.SUCCEEDED

    def test_an_attempt_lost_without_a_driver_is_abandoned(self, world: ExecutorWorld, posts: Posts) -> None:
        work = world.work("0.1", "holds")
        posts(1).begin(work)
        posts(1).executor.close()
        world.lose("0.1")
        assert posts(2).recover(work) == [Recovered.ENDED]
        assert [outcome.phase for outcome in posts(2).ends_of("0.1")] == [AttemptPhase.ABANDONED]
        assert world.runs_of("0.1") == 1

    def test_leaving_lets_attempts_go_on(self, world: ExecutorWorld, posts: Posts) -> None:
        work = world.work("0.1", "holds")
        posts(1).begin(work)
        posts(1).executor.close()
        assert posts(2).recover(work) == [Recovered.ADOPTED]
        world.let_go("0.1")
        assert posts(2).end_of("0.1").phase is AttemptPhase.SUCCEEDED
        assert world.runs_of("0.1") == 1

    def test_whoever_starts_it_twice_gets_one_run_of_it(self, world: ExecutorWorld, posts: Posts) -> None:
        work = world.work("0.1", "holds")
        posts(1).begin(work)
        assert posts(2).recover(work) == [Recovered.ADOPTED]
        with suppress(BudwoodError):
            posts(2).executor.start(work)
            posts(2).turn_for(0.3)
        world.let_go("0.1")
        assert posts(3).recover(work) in ([Recovered.ADOPTED], [Recovered.ENDED])
        assert posts(3).end_of("0.1").phase is AttemptPhase.SUCCEEDED
        assert world.runs_of("0.1") == 1

    def test_an_adopted_attempt_can_be_cancelled(self, world: ExecutorWorld, posts: Posts) -> None:
        work = world.work("0.1", "holds")
        posts(1).begin(work)
        posts(2).recover(work)
        posts(2).executor.cancel("0.1")
        assert posts(2).end_of("0.1").phase is AttemptPhase.CANCELLED


class FenceRules(ExecutorRules):
    """Who has a lower number than another had can do nothing."""

    def test_a_driver_that_was_overtaken_starts_nothing(self, world: ExecutorWorld, posts: Posts) -> None:
        posts(1).begin(world.work("0.1", "holds"))
        posts(2).recover(world.work("0.1", "holds"))
        for slot in (0, 1):  # one that the newer driver knows, and one that it never used
            with suppress(BudwoodError):
                posts(1).executor.start(world.work(f"{slot + 5}.1", "succeeds", slot=slot))
                posts(1).turn_for(0.3)
        world.let_go("0.1")
        posts(2).end_of("0.1")
        assert [world.runs_of(name) for name in ("5.1", "6.1")] == [0, 0]
        assert posts(1).endings == []

    def test_a_driver_that_was_overtaken_ends_nothing(self, world: ExecutorWorld, posts: Posts) -> None:
        work = world.work("0.1", "holds")
        posts(1).begin(work)
        posts(2).recover(work)
        with suppress(BudwoodError):
            posts(1).executor.cancel("0.1")
            posts(1).turn_for(0.3)
        world.let_go("0.1")
        assert posts(2).end_of("0.1").phase is AttemptPhase.SUCCEEDED

    def test_a_lower_number_comes_too_late(self, world: ExecutorWorld, posts: Posts) -> None:
        posts(7).executor.close()
        with suppress(BudwoodError):
            posts(6).executor.start(world.work("0.1", "succeeds"))
            posts(6).turn_for(0.3)
        assert posts(8).recover(world.work("0.1", "succeeds")) == [Recovered.UNSENT]
        assert world.runs_of("0.1") == 0

    @pytest.mark.parametrize("number", [2, 40])
    def test_a_higher_number_takes_over(self, world: ExecutorWorld, posts: Posts, number: int) -> None:
        work = world.work("0.1", "holds")
        posts(1).begin(work)
        assert posts(number).recover(work) == [Recovered.ADOPTED]
        posts(number).begin(world.work("1.1", "holds", slot=1))
        for name in ("0.1", "1.1"):
            world.let_go(name)
            assert posts(number).end_of(name).phase is AttemptPhase.SUCCEEDED


class ExecutorConformance(RunningRules, StepRules, RecoveryRules, FenceRules, CallRules, CallRecoveryRules):
    """Every rule of `budwood.executors.base`; inherit, and supply the fixture `world`."""
