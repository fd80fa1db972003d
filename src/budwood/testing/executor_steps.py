"""What every executor promises of steps: what they read, where what they print goes, how each ended.

A part of `ExecutorConformance`. Knows the contract of executors; must not know any real one.
"""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from budwood._core.model import AttemptPhase, StepEnd
from budwood.executors.base import Recovered, Work
from budwood.testing.executor_world import ExecutorRules, ExecutorWorld, Post

Posts = Callable[[int], Post]


def with_steps(work: Work, *changes: dict[str, str]) -> Work:
    """Repeat the only step of an attempt, each time with other fields."""
    return replace(work, steps=tuple(replace(work.steps[0], **change) for change in changes))


class StepRules(ExecutorRules):
    """A step reads what it is given; what it prints is kept without secrets; how it ended is told."""

    def test_a_step_reads_the_file_that_it_is_given(self, world: ExecutorWorld, post: Post, tmp_path: Path) -> None:
        prompt = tmp_path / "prompt"
        prompt.write_bytes(b"what to do\n\xff")
        post.executor.start(with_steps(world.work("0.1", "reads"), {"stdin": str(prompt)}))
        assert post.end_of("0.1").phase is AttemptPhase.SUCCEEDED
        post.executor.start(world.work("1.1", "reads"))
        assert post.end_of("1.1").phase is AttemptPhase.SUCCEEDED
        assert [log for _, _, log in post.endings] == [b"what to do\n\xff", b""]

    @pytest.mark.parametrize("kind", ["missing", "fifo", "folder"])
    def test_a_step_that_has_nothing_to_read_is_not_run(
        self, world: ExecutorWorld, post: Post, tmp_path: Path, kind: str
    ) -> None:
        path = tmp_path / kind
        if kind == "fifo":
            os.mkfifo(path)
        elif kind == "folder":
            path.mkdir()
        post.executor.start(with_steps(world.work("0.1", "reads"), {"name": "first", "stdin": str(path)}))
        outcome = post.end_of("0.1")
        assert (outcome.phase, outcome.error_type, outcome.exit_code) == (AttemptPhase.FAILED, "stdin", None)
        assert str(path) in outcome.message
        assert [end.name for end in outcome.steps] == ["first"]
        assert world.runs_of("0.1") == 0
        post.executor.start(world.work("1.1", "succeeds"))
        assert post.end_of("1.1").phase is AttemptPhase.SUCCEEDED

    def test_a_transcript_holds_what_its_step_printed(self, world: ExecutorWorld, post: Post, tmp_path: Path) -> None:
        changes = [{"name": name, "stdin": str(tmp_path / name), "transcript": f"{name}.txt"} for name in "ab"]
        for name in "ab":
            (tmp_path / name).write_text(f"of {name}\n")
        post.executor.start(with_steps(world.work("0.1", "reads"), *changes))
        assert post.end_of("0.1").phase is AttemptPhase.SUCCEEDED
        assert [world.transcript("0.1", f"{name}.txt") for name in "ab"] == [b"of a\n", b"of b\n"]
        assert post.endings[0][2] == b"of a\nof b\n"

    def test_a_transcript_is_there_however_the_attempt_ends(self, world: ExecutorWorld, post: Post) -> None:
        change = {"transcript": "said.txt"}
        post.executor.start(with_steps(world.work("0.1", "holds", timeout_s=0.3), change))
        assert post.end_of("0.1").phase is AttemptPhase.TIMED_OUT
        post.begin(with_steps(world.work("1.1", "holds"), change))
        post.executor.cancel("1.1")
        assert post.end_of("1.1").phase is AttemptPhase.CANCELLED
        post.executor.start(with_steps(world.work("2.1", "fails"), change))
        assert post.end_of("2.1").phase is AttemptPhase.FAILED
        assert [world.transcript(f"{number}.1", "said.txt") for number in range(3)] == [b"", b"", b""]

    def test_what_was_asked_of_a_step_outlives_its_driver(
        self, world: ExecutorWorld, posts: Posts, tmp_path: Path
    ) -> None:
        prompt = tmp_path / "prompt"
        prompt.write_text("the key is hunter2-hunter2\n")
        work = with_steps(world.work("0.1", "reads"), {"stdin": str(prompt), "transcript": "said.txt"})
        work = replace(work, mask=("hunter2-hunter2",))
        posts(1).executor.start(work)
        posts(1).end_of("0.1")
        posts(1).executor.close()
        assert posts(2).recover(work) == [Recovered.ENDED]
        posts(2).end_of("0.1")
        assert posts(2).endings[0][2] == world.transcript("0.1", "said.txt") == b"the key is [masked]\n"

    def test_secrets_stand_neither_in_log_nor_in_transcript(
        self, world: ExecutorWorld, post: Post, tmp_path: Path
    ) -> None:
        prompt = tmp_path / "prompt"
        prompt.write_text("hunter2-hunter2 hunter2-hunter2-too short abcdefghi abcdefabcdef hunter2-")
        work = with_steps(world.work("0.1", "reads"), {"stdin": str(prompt), "transcript": "said.txt"})
        secrets = ("hunter2-hunter2", "hunter2-hunter2-too", "short", "", "abcdef", "defghi")
        post.executor.start(replace(work, mask=secrets))
        post.end_of("0.1")
        expected = b"[masked] [masked] short [masked] [masked][masked] hunter2-"
        assert post.endings[0][2] == world.transcript("0.1", "said.txt") == expected

    def test_the_end_of_each_step_is_told(self, world: ExecutorWorld, post: Post) -> None:
        two = ({"name": "first"}, {"name": "second"})
        post.executor.start(with_steps(world.work("0.1", "succeeds"), *two))
        assert [(end.name, end.exit_code) for end in post.end_of("0.1").steps] == [("first", 0), ("second", 0)]
        post.executor.start(with_steps(world.work("1.1", "fails"), *two))
        assert [(end.name, end.exit_code) for end in post.end_of("1.1").steps] == [("first", 3)]
        post.executor.start(with_steps(world.work("2.1", "holds", timeout_s=0.3), *two))
        [late] = post.end_of("2.1").steps
        assert (late.name, late.exit_code, late.timed_out) == ("first", None, True)
        post.begin(with_steps(world.work("3.1", "holds"), *two))
        post.executor.cancel("3.1")
        [ended] = post.end_of("3.1").steps
        assert isinstance(ended, StepEnd)
        assert (ended.name, ended.timed_out) == ("first", False)

    def test_a_call_has_no_steps_and_shows_no_secrets_in_the_end(self, world: ExecutorWorld, post: Post) -> None:
        post.executor.start(replace(world.call("0.1", "prints"), mask=("hello\n", "hello")))
        post.executor.start(replace(world.call("1.1", "raises", slot=1), mask=("not today",)))
        post.executor.start(world.call("2.1", "dies", slot=2))
        outcomes = [post.end_of(f"{slot}.1") for slot in range(3)]
        logs = {name: log for name, _, log in post.endings}
        assert logs["0.1"] == b"[masked]"
        assert outcomes[1].message == "ValueError: [masked]"
        assert isinstance(outcomes[1].traceback, str)
        assert outcomes[1].traceback.endswith("ValueError: [masked]\n")
        assert b"not today" not in (logs["1.1"] or b"")
        assert [outcome.steps for outcome in outcomes] == [(), (), ()]
