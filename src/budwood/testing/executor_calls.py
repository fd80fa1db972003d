"""What every executor promises of function calls; a part of `ExecutorConformance`.

Knows the contract of executors; must not know any real one.
"""

from collections.abc import Callable
from contextlib import suppress

import msgspec
import pytest
from msgspec import UNSET

from budwood._core.model import AttemptPhase, Outcome
from budwood.errors import BudwoodError
from budwood.executors.base import Recovered
from budwood.testing.executor_world import CallKind, ExecutorRules, ExecutorWorld, Post

Posts = Callable[[int], Post]


def result_of(outcome: Outcome) -> object:
    """Return what a call that succeeded gave back."""
    assert outcome.phase is AttemptPhase.SUCCEEDED, outcome
    assert outcome.result is not UNSET
    return msgspec.json.decode(outcome.result)


class CallRules(ExecutorRules):
    """A call ends once, with a result or with the reason why it has none, and spoils nothing for the next."""

    def test_what_a_function_returns_comes_back(self, world: ExecutorWorld, post: Post) -> None:
        post.executor.start(world.call("0.1", "returns"))
        assert result_of(post.end_of("0.1")) == ["0.1", {"and": None}]
        assert world.runs_of("0.1") == 1

    def test_what_a_function_raises_comes_back_with_its_traceback(self, world: ExecutorWorld, post: Post) -> None:
        post.executor.start(world.call("0.1", "raises"))
        outcome = post.end_of("0.1")
        assert (outcome.phase, outcome.error_type) == (AttemptPhase.FAILED, "exception")
        assert outcome.message == "ValueError: not today"
        assert isinstance(outcome.traceback, str)
        assert outcome.traceback.endswith("ValueError: not today\n")
        assert outcome.result is UNSET

    def test_what_a_call_printed_comes_with_its_end(self, world: ExecutorWorld, post: Post) -> None:
        kinds: list[CallKind] = ["prints", "returns", "prints"]
        for number, kind in enumerate(kinds):
            post.executor.start(world.call(f"{number}.1", kind))
            post.end_of(f"{number}.1")
        assert [log for _, _, log in post.endings] == [b"hello\n", b"", b"hello\n"]

    def test_a_call_that_ends_its_process_fails_and_the_next_one_works(self, world: ExecutorWorld, post: Post) -> None:
        post.executor.start(world.call("0.1", "dies"))
        outcome = post.end_of("0.1")
        assert (outcome.phase, outcome.exit_code, outcome.error_type) == (AttemptPhase.FAILED, 3, "exit")
        assert outcome.message
        post.executor.start(world.call("1.1", "returns"))
        assert result_of(post.end_of("1.1"))
        assert [world.runs_of(name) for name in ("0.1", "1.1")] == [1, 1]

    def test_nothing_is_told_of_a_call_before_the_loop_turns(self, world: ExecutorWorld, post: Post) -> None:
        post.executor.start(world.call("0.1", "returns"))
        assert (post.begun_pids, post.endings) == ({}, [])
        post.end_of("0.1")
        post.executor.start(world.call("1.1", "returns"))
        assert len(post.endings) == 1
        post.end_of("1.1")

    def test_a_long_call_is_told_to_have_begun(self, world: ExecutorWorld, post: Post) -> None:
        post.begin(world.call("0.1", "holds"))
        assert post.begun_pids["0.1"] > 0
        world.let_go("0.1")
        assert result_of(post.end_of("0.1"))

    def test_cancelling_ends_a_call(self, world: ExecutorWorld, post: Post) -> None:
        post.begin(world.call("0.1", "holds"))
        post.executor.cancel("0.1")
        post.executor.cancel("0.1")
        assert post.ends_of("0.1") == []
        assert post.end_of("0.1").phase is AttemptPhase.CANCELLED
        post.executor.cancel("0.1")
        post.executor.start(world.call("1.1", "returns"))
        assert result_of(post.end_of("1.1"))
        assert len(post.ends_of("0.1")) == 1

    def test_cancelling_a_call_that_was_just_started_is_told_from_the_loop(
        self, world: ExecutorWorld, post: Post
    ) -> None:
        post.executor.start(world.call("0.1", "holds"))
        post.executor.cancel("0.1")
        assert post.ends_of("0.1") == []
        assert post.end_of("0.1").phase is AttemptPhase.CANCELLED
        post.executor.start(world.call("1.1", "returns"))
        assert result_of(post.end_of("1.1"))

    def test_a_time_limit_ends_a_call_and_is_that_calls_alone(self, world: ExecutorWorld, post: Post) -> None:
        post.executor.start(world.call("0.1", "returns", timeout_s=0.3))
        assert result_of(post.end_of("0.1"))
        post.begin(world.call("1.1", "holds"))
        post.turn_for(0.4)
        assert post.ends_of("1.1") == []
        world.let_go("1.1")
        assert result_of(post.end_of("1.1"))
        post.executor.start(world.call("2.1", "holds", timeout_s=0.3))
        assert post.end_of("2.1").phase is AttemptPhase.TIMED_OUT
        post.executor.start(world.call("3.1", "returns", timeout_s=20.0))
        assert result_of(post.end_of("3.1"))

    def test_calls_in_several_slots_go_on_side_by_side(self, world: ExecutorWorld, post: Post) -> None:
        for slot in range(3):
            post.begin(world.call(f"{slot}.1", "holds", slot=slot))
        for slot in (1, 0, 2):
            world.let_go(f"{slot}.1")
            assert result_of(post.end_of(f"{slot}.1")) == [f"{slot}.1", {"and": None}]

    def test_calls_and_commands_take_turns_in_a_slot(self, world: ExecutorWorld, post: Post) -> None:
        for number in range(6):
            name = f"{number}.1"
            post.executor.start(world.call(name, "returns") if number % 2 else world.work(name, "prints"))
            assert post.end_of(name).phase is AttemptPhase.SUCCEEDED
            post.executor.forget(name)
        assert [world.runs_of(f"{number}.1") for number in range(6)] == [1] * 6

    @pytest.mark.parametrize("slots", [1, 2])
    def test_a_thousand_calls_have_a_thousand_results(self, world: ExecutorWorld, post: Post, slots: int) -> None:
        names = [f"{number}.1" for number in range(1000)]
        for name, slot in zip(names, range(slots), strict=False):
            post.executor.start(world.call(name, "returns", slot=slot))
        for name in names:
            slot = names.index(name) % slots
            assert result_of(post.end_of(name)) == [name, {"and": None}]
            post.executor.forget(name)
            following = names.index(name) + slots
            if following < len(names):
                post.executor.start(world.call(names[following], "returns", slot=slot))
        assert len(post.endings) == 1000
        assert sum(world.runs_of(name) for name in names[::50]) == 20


class CallRecoveryRules(ExecutorRules):
    """Functions can be repeated: what is open when a driver dies is made again, when nothing is left of it."""

    @pytest.mark.parametrize("begun", [False, True])
    def test_an_open_call_is_to_be_made_again(self, world: ExecutorWorld, posts: Posts, begun: bool) -> None:
        work = world.call("0.1", "holds")
        posts(1).begin(work)
        assert posts(2).recover(msgspec.structs.replace(work, begun=begun)) == [Recovered.UNSENT]
        assert posts(2).endings == []
        posts(2).begin(work)
        world.let_go("0.1")
        assert result_of(posts(2).end_of("0.1"))
        assert posts(1).endings == []
        assert world.runs_of("0.1") == 2

    def test_a_call_whose_end_nobody_wrote_down_is_made_again(self, world: ExecutorWorld, posts: Posts) -> None:
        work = world.call("0.1", "returns")
        posts(1).executor.start(work)
        posts(1).end_of("0.1")
        assert posts(2).recover(work) == [Recovered.UNSENT]
        posts(2).executor.start(work)
        assert result_of(posts(2).end_of("0.1"))
        assert world.runs_of("0.1") == 2

    def test_a_call_that_said_its_cost_is_another_attempt_the_next_time(
        self, world: ExecutorWorld, posts: Posts
    ) -> None:
        work = world.call("0.1", "spends")
        posts(1).begin(work)
        for fence in (2, 3):  # the second died before it could write it down
            assert posts(fence).recover(work) == [Recovered.ENDED]
            outcome = posts(fence).end_of("0.1")
            assert (outcome.phase, outcome.usage.cost_usd) == (AttemptPhase.ABANDONED, 0.5)
        posts(3).executor.forget("0.1")
        posts(3).executor.start(world.call("0.2", "returns"))
        assert result_of(posts(3).end_of("0.2"))
        assert [world.runs_of(name) for name in ("0.1", "0.2")] == [1, 1]

    def test_calls_and_commands_are_recovered_each_in_its_way(self, world: ExecutorWorld, posts: Posts) -> None:
        works = [world.work("0.1", "holds"), world.call("1.1", "holds", slot=1)]
        for work in works:
            posts(1).begin(work)
        posts(1).executor.close()
        assert posts(2).recover(*works) == [Recovered.ADOPTED, Recovered.UNSENT]
        posts(2).begin(works[1])
        for name in ("0.1", "1.1"):
            world.let_go(name)
            assert posts(2).end_of(name).phase is AttemptPhase.SUCCEEDED
        assert [world.runs_of(name) for name in ("0.1", "1.1")] == [1, 2]

    def test_a_call_whose_supervisor_is_killed_is_abandoned(self, world: ExecutorWorld, post: Post) -> None:
        post.begin(world.call("0.1", "holds"))
        world.lose("0.1")
        assert post.end_of("0.1").phase is AttemptPhase.ABANDONED
        post.executor.start(world.call("0.2", "returns"))
        assert result_of(post.end_of("0.2"))

    def test_a_driver_that_was_overtaken_makes_no_call(self, world: ExecutorWorld, posts: Posts) -> None:
        posts(1).executor.start(world.call("0.1", "returns"))
        posts(1).end_of("0.1")
        posts(2).recover()
        for slot in (0, 1):  # one with a worker of its own, and one that it never used
            with suppress(BudwoodError):
                posts(1).executor.start(world.call(f"{slot + 5}.1", "returns", slot=slot))
                posts(1).turn_for(0.3)
        assert [world.runs_of(name) for name in ("5.1", "6.1")] == [0, 0]
