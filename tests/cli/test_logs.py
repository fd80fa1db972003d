"""`budwood logs`: what attempts printed, whole, safe on a terminal, and as it comes."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest
from tests.support.program import call, in_terminal
from tests.support.scene import Scene
from tests.support.told import Told

from budwood._core.model import RunSettings, TaskSpec
from budwood.cli.logs import LogTail
from budwood.cli.text import visible

NASTY = b"a\0b\xff\x1b[31mred\x1b[0m\x1b[2J\x1b]0;title\x07 \xe2\x80\xaeback\r\nlast\tline"


@pytest.fixture
def nasty(tmp_path: Path) -> Path:
    """A run whose task printed what a terminal must not get."""
    told = Told(tmp_path, [TaskSpec(id="t", run="x"), TaskSpec(id="quiet", run="x"), TaskSpec(id="later", run="x")])
    told.done("t", log=NASTY)
    told.done("quiet")
    told.close()
    return tmp_path


def test_the_newest_attempt_is_printed(over: Told) -> None:
    assert call("logs", "night", "test", cwd=over.root).raw == b"try 102\n1 failed\n"
    assert call("logs", "night", "test", "--attempt", "1", cwd=over.root).raw == b"try 101\n1 failed\n"


def test_without_a_task_all_are_printed_with_their_ids(over: Told) -> None:
    assert call("logs", cwd=over.root).out.splitlines() == [
        "build  | compiling",
        "build  | all built",
        "test   | try 102",
        "test   | 1 failed",
    ]


def test_a_pipe_gets_the_bytes_as_they_are(nasty: Path) -> None:
    assert call("logs", "night", "t", cwd=nasty).raw == NASTY


def test_a_terminal_gets_nothing_that_could_harm_it(nasty: Path) -> None:
    shown = in_terminal("logs", "night", "t", cwd=nasty)[1]
    assert shown == "a^@b\\xff\x1b[31mred\x1b[0m^[[2J^[]0;title^G \\u202eback\x1b[0m\nlast\tline".replace(
        "\x1b[0m\nlast", "\nlast"
    )
    plain = in_terminal("logs", "night", "t", cwd=nasty, env={"NO_COLOR": "1"})[1]
    assert "\x1b" not in plain
    assert "a^@b\\xffred^[[2J" in plain


def test_a_terminal_gets_the_bytes_if_it_wants_them(nasty: Path) -> None:
    assert "\x1b[2J" in in_terminal("logs", "night", "t", "--raw", cwd=nasty)[1]


def test_colours_end_with_their_line() -> None:
    assert visible("\x1b[31mred\nplain", colour=True) == "\x1b[31mred\x1b[0m\nplain"
    assert visible("\x1b[31mred\x1b[0m\n", colour=True) == "\x1b[31mred\x1b[0m\n"
    assert visible("\x1b[31mred\n", colour=False) == "red\n"


def test_silence_and_tasks_that_have_not_begun_are_said_on_standard_error(nasty: Path) -> None:
    quiet, later = (call("logs", "night", task, cwd=nasty) for task in ("quiet", "later"))
    assert (quiet.code, quiet.raw, quiet.err) == (0, b"", "attempt 1 of task quiet printed nothing\n")
    assert (later.code, later.raw) == (0, b"")
    assert later.err == "task later has not begun: ready\n\nhint: budwood why night later\n"


def test_an_attempt_that_is_not_there_is_an_error(nasty: Path) -> None:
    ran = call("logs", "night", "t", "--attempt", "9", cwd=nasty)
    assert (ran.code, ran.err) == (2, "error: task t of run night has no attempt 9\n\nhint: its attempts: 1\n")
    assert call("logs", "--attempt", "1", cwd=nasty).code == 2


def drive_in_background(scene: Scene) -> threading.Thread:
    """Drive a scene beside the test."""
    thread = threading.Thread(target=scene.drive)
    thread.start()
    return thread


def wait_for(path: Path) -> None:
    """Wait until a task says that it is there; the test's own time limit bounds this."""
    while not path.exists():
        threading.Event().wait(0.01)


def test_a_running_attempt_is_read_from_its_directory_and_followed_to_its_end(tmp_path: Path) -> None:
    command = "echo begun; touch begun; while ! [ -e go ]; do sleep 0.02; done; echo over; exit 4"
    scene = Scene(tmp_path, [TaskSpec(id="t", run=command)])
    driving = drive_in_background(scene)
    wait_for(tmp_path / "begun")
    assert call("logs", "last", "t", cwd=tmp_path).raw == b"begun\n"
    argv = [sys.executable, "-m", "budwood", "logs", "last", "t", "-f"]
    with subprocess.Popen(argv, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"begun\n"
        (tmp_path / "go").touch()
        out, err = process.communicate(timeout=30)
    assert (out, err) == (b"over\n", b"attempt 1 failed: exit code 4\n")
    driving.join()


def test_all_attempts_can_be_followed_at_once_until_the_run_rests(tmp_path: Path) -> None:
    tasks = [
        TaskSpec(
            id="first", run="echo zero; touch begun; while ! [ -e go ]; do sleep 0.02; done; echo one; printf two"
        ),
        TaskSpec(id="second", run="echo three", after=("first",)),
    ]
    driving = drive_in_background(Scene(tmp_path, tasks))
    wait_for(tmp_path / "begun")
    argv = [sys.executable, "-m", "budwood", "logs", "-f"]
    with subprocess.Popen(argv, cwd=tmp_path, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        first = process.stdout.readline()  # from now on it follows
        (tmp_path / "go").touch()
        out, _ = process.communicate(timeout=30)
    assert (first + out).decode().splitlines() == ["first  | zero", "first  | one", "first  | two", "second | three"]
    driving.join()


def test_an_attempt_that_nobody_records_is_not_waited_for(night: Told) -> None:
    night.leave()
    ran = call("logs", "night", "docs", "-f", cwd=night.root)
    assert ran.err == "attempt 1 is over, and nobody drives the run to record it\n"


def test_output_beyond_the_limit_has_its_middle_dropped_and_counted(tmp_path: Path) -> None:
    command = "i=0; while [ $i -lt 300 ]; do echo line $i; i=$((i+1)); done"
    Scene(tmp_path, [TaskSpec(id="t", run=command)], settings=RunSettings(output_bytes=400)).drive()
    out = call("logs", "last", "t", cwd=tmp_path).out
    assert out.startswith("line 0\nline 1\n")
    assert "bytes dropped here]\n" in out
    assert out.endswith("line 298\nline 299\n")


def test_a_running_attempt_that_printed_too_much_says_that_its_end_is_unordered(tmp_path: Path) -> None:
    command = "seq 1000; touch begun; while ! [ -e go ]; do sleep 0.02; done"
    scene = Scene(tmp_path, [TaskSpec(id="t", run=command)], settings=RunSettings(output_bytes=400))
    driving = drive_in_background(scene)
    wait_for(tmp_path / "begun")
    while "in no order" not in (err := call("logs", "last", "t", cwd=tmp_path).err):
        assert err == ""  # the supervisor has not written it all yet
    (tmp_path / "go").touch()
    driving.join()


class TestLogTail:
    """The log of a running attempt: a head, then a ring of which the order is unknown once it is full."""

    HEAD, TAIL = 10, 6

    def tail_of(self, directory: Path) -> LogTail:
        (directory / "spec.json").write_text(
            f'{{"head_bytes": {self.HEAD}, "tail_bytes": {self.TAIL}, "attempt": "0.1"}}'
        )
        return LogTail(directory)

    def test_what_is_added_is_read_once(self, tmp_path: Path) -> None:
        tail = self.tail_of(tmp_path)
        assert tail.read() == b""
        (tmp_path / "log").write_bytes(b"one")
        assert tail.read() == b"one"
        (tmp_path / "log").write_bytes(b"one two")
        assert (tail.read(), tail.read()) == (b" two", b"")
        assert tail.rest(b"one two three", dropped_bytes=0) == b" three"

    def test_a_full_ring_is_not_read(self, tmp_path: Path) -> None:
        tail = self.tail_of(tmp_path)
        (tmp_path / "log").write_bytes(b"0123456789" + b"ghabef")  # wrapped: "ab" was overwritten by later bytes
        assert tail.read() == b"0123456789"
        whole = b"0123456789\n[budwood: 2 bytes dropped here]\ncdefgh"
        assert tail.rest(whole, dropped_bytes=2) == b"\n[budwood: 2 bytes dropped here]\ncdefgh"

    @pytest.mark.parametrize(
        ("dropped", "tail_text", "rest"),
        [
            (1, b"bcdefg", b"defg"),
            (3, b"defghi", b"defghi"),
            (5, b"fghijk", b"[budwood: 2 bytes dropped here]\nfghijk"),
        ],
    )
    def test_what_was_read_of_the_ring_before_it_was_full_is_not_given_twice(
        self, tmp_path: Path, dropped: int, tail_text: bytes, rest: bytes
    ) -> None:
        tail = self.tail_of(tmp_path)
        (tmp_path / "log").write_bytes(b"012345678\nabc")
        assert tail.read() == b"012345678\nabc"
        whole = b"012345678\n" + f"[budwood: {dropped} bytes dropped here]\n".encode() + tail_text
        assert tail.rest(whole, dropped_bytes=dropped) == rest
