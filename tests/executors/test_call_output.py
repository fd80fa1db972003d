"""What calls print: each call's own, all of it or its two ends, whatever a function does to the outputs."""

import os
import shutil

import msgspec
import pytest
from tests.executors.calling import Desk, Shop, at_desk
from tests.executors.looks import wait_for

from budwood._core.model import AttemptPhase
from budwood.executors.local.leftovers import STORED_LOG_BYTES

pytestmark = pytest.mark.slow
MIB = 1024 * 1024
FUNCTIONS = """
import contextlib, io, logging, os, subprocess, sys, time, warnings

def say(text):
    print(text)

def both():
    print("one")
    print("two", file=sys.stderr)
    os.write(1, b"three\\n")
    subprocess.run("echo four; echo five >&2", shell=True)
    sys.stdout.buffer.write(b"six\\n")
    print("no line end", end="")

def raw(pieces):
    for _ in range(pieces):
        os.write(1, b"a\\0b\\xff\\xfe\\xc3 \\xed\\xa0\\x80\\n")

def much(megabytes):
    print("first")
    line = "x" * 1023 + "\\n"
    for _ in range(megabytes):
        sys.stdout.write(line * 1024)
    print("last")

def much_and_wait(megabytes):
    much(megabytes)
    open("printed", "w").close()
    while not os.path.exists("go"):
        time.sleep(0.01)

def much_and_die(megabytes):
    much(megabytes)
    os._exit(4)

def close_outputs():
    print("before")
    os.close(1)
    os.close(2)

def put_a_file_in_their_place():
    os.close(1)
    fd = os.open("mine", os.O_WRONLY | os.O_CREAT)
    assert fd == 1
    print("into mine")

def close_streams():
    print("before")
    sys.stdout.close()
    sys.stderr.close()

def replace_streams():
    print("before")
    sys.stdout = io.StringIO()
    sys.stderr = None
    print("nowhere")

def wrap_stream():
    sys.stdout = io.TextIOWrapper(sys.stdout.buffer, encoding="latin-1")
    print("é")

def detach_stream():
    sys.stdout.detach()

class Hostile:
    def __getattr__(self, name):
        raise RuntimeError("no " + name)

def hostile_stream():
    sys.stdout = sys.stderr = Hostile()

def log():
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    logging.info("logged")
    warnings.warn("careful")

def read():
    return sys.stdin.read()

def fail_after(text):
    print(text)
    raise ValueError("at last")
"""


def test_text_bytes_and_what_programs_print_are_kept_in_their_order(desk: Desk) -> None:
    outcome = desk.call("both")
    assert desk.last_log == b"one\ntwo\nthree\nfour\nfive\nsix\nno line end"
    assert outcome.measure.output_bytes == len(desk.last_log)
    desk.call("say", "ü∞\U0001f333")
    assert desk.last_log == "ü∞\U0001f333\n".encode()
    desk.call("read")
    assert desk.last_log == b""


@pytest.mark.parametrize("pieces", [1, 40_000])
def test_bytes_come_back_as_they_were(desk: Desk, pieces: int) -> None:
    """Below and above the size up to which a log travels as text; no text travels so."""
    outcome = desk.call("raw", pieces)
    assert desk.last_log == b"a\0b\xff\xfe\xc3 \xed\xa0\x80\n" * pieces
    directory = desk.shop.paths.attempt("1.1")
    assert directory.exists()
    assert outcome.measure.output_bytes == len(desk.last_log)
    desk.executor.forget("1.1")
    assert not directory.exists()


def test_a_traceback_follows_what_was_printed(desk: Desk) -> None:
    outcome = desk.call("fail_after", "so far")
    assert desk.last_log == b"so far\n" + str(outcome.traceback).encode()


def test_of_much_output_head_and_tail_are_kept_and_the_rest_is_counted(desk: Desk) -> None:
    for _ in range(2):
        outcome = desk.call("much", 50)
        log = desk.last_log
        assert log is not None
        assert outcome.phase is AttemptPhase.SUCCEEDED
        assert outcome.measure.output_bytes == 50 * MIB + len("first\nlast\n")
        assert outcome.measure.dropped_bytes == outcome.measure.output_bytes - 4 * MIB
        marker = f"\n[budwood: {outcome.measure.dropped_bytes} bytes dropped here]\n".encode()
        assert log.startswith(b"first\nxxx")
        assert log.endswith(b"xxx\nlast\n")
        assert marker in log
        assert len(log) == 4 * MIB + len(marker)
        assert (
            log.replace(marker, b"").replace(b"\n", b"x").replace(b"first", b"").replace(b"last", b"").strip(b"x")
            == b""
        )
        assert outcome.measure.peak_memory_bytes < 100 * MIB
    desk.call("say", "small")
    assert desk.last_log == b"small\n"


def test_a_small_bound_is_kept_too(desk: Desk) -> None:
    desk.changed(desk.shop.work("say", "0123456789"), output_bytes=4)
    assert desk.last_log == b"01\n[budwood: 7 bytes dropped here]\n9\n"


@pytest.mark.skipif(os.uname().sysname != "Linux", reason="only Linux gives back the middle of a file")
def test_the_disk_does_not_fill_while_a_call_prints(desk: Desk) -> None:
    work = desk.shop.work("much_and_wait", 300)
    desk.begin(work)
    wait_for((desk.shop.root / "printed").exists)
    [log] = desk.shop.paths.attempts.glob("w*/call.log")
    wait_for(lambda: log.stat().st_blocks * 512 < 8 * MIB)
    assert log.stat().st_size > 300 * MIB
    (desk.shop.root / "go").touch()
    outcome = desk.end_of(work.id)
    assert outcome.measure.output_bytes > 300 * MIB
    assert desk.last_log is not None
    assert desk.last_log.endswith(b"xxx\nlast\n")
    assert b"\0" not in desk.last_log


def test_what_a_call_printed_before_its_worker_died_is_kept(desk: Desk) -> None:
    outcome = desk.call("much_and_die", 10)
    assert outcome.exit_code == 4
    assert outcome.measure.dropped_bytes == 6 * MIB + len("first\nlast\n")
    assert desk.last_log is not None
    assert desk.last_log.startswith(b"first\nxxx")
    assert f"[budwood: {outcome.measure.dropped_bytes} bytes dropped here]\n".encode() in desk.last_log
    assert desk.last_log.endswith(b"xxx\nlast\n")


@pytest.mark.parametrize("function", ["much", "much_and_die"])
def test_the_log_that_comes_with_a_calls_end_has_no_secrets(desk: Desk, function: str) -> None:
    outcome = desk.changed(desk.shop.work(function, 1), mask=("first\nxxxxxx", "x\nlast"))
    assert outcome.measure.output_bytes == MIB + len("first\nlast\n")
    assert desk.last_log is not None
    assert desk.last_log.startswith(b"[masked]xxx")
    assert desk.last_log.endswith(b"xxx[masked]\n")


@pytest.mark.parametrize("function", ["much", "much_and_die"])
def test_a_log_that_is_too_large_for_the_store_stays_in_its_directory(desk: Desk, function: str) -> None:
    desk.changed(desk.shop.work(function, 9), output_bytes=16 * MIB)
    assert desk.last_log is None
    log = desk.shop.paths.attempt("1.1") / "log"
    assert log.stat().st_size > STORED_LOG_BYTES
    assert log.read_bytes().endswith(b"xxx\nlast\n")


@pytest.mark.parametrize(
    ("function", "printed"),
    [
        ("close_outputs", b"before\n"),
        ("put_a_file_in_their_place", b""),
        ("close_streams", b"before\n"),
        ("replace_streams", b"before\n"),
        ("wrap_stream", "é\n".encode("latin-1")),
        ("detach_stream", b""),
        ("hostile_stream", b""),
    ],
)
def test_the_outputs_are_as_before_for_the_next_call(desk: Desk, function: str, printed: bytes) -> None:
    desk.call("say", "x")
    assert desk.call(function).phase is AttemptPhase.SUCCEEDED
    assert desk.last_log == printed
    for _ in range(2):
        assert desk.call("both").phase is AttemptPhase.SUCCEEDED
        assert desk.last_log == b"one\ntwo\nthree\nfour\nfive\nsix\nno line end"
    if function == "put_a_file_in_their_place":
        assert (desk.shop.root / "mine").read_text() == "into mine\n"


def test_handlers_of_an_earlier_call_still_print(desk: Desk) -> None:
    for _ in range(2):
        desk.call("log")
        assert desk.last_log is not None
        assert desk.last_log.startswith(b"logged\n")


def test_small_calls_leave_no_directories_behind(desk: Desk) -> None:
    for number in range(1, 4):
        desk.call("say", "x")
        desk.executor.forget(f"{number}.1")
    names = [path.name for path in desk.shop.paths.attempts.iterdir()]
    assert [name for name in names if not name.startswith("w")] == []
    assert len(names) == 1


def test_what_workers_of_a_killed_driver_left_is_cleared_by_the_next(desk: Desk) -> None:
    desk.call("raw", 1)
    stale = desk.shop.paths.attempts / "w0.7.1"
    stale.mkdir()
    (stale / "call.log").write_text("of a worker that is long dead")
    with at_desk(Shop(desk.shop.root), 2) as other:
        work = desk.shop.work("say", "x")
        assert other.recover(msgspec.structs.replace(work, id="1.1")) == ["unsent"]
        assert list(desk.shop.paths.attempts.iterdir()) == []
        other.shop.made = 1
        other.call("say", "again")
        assert other.last_log == b"again\n"
    shutil.rmtree(desk.shop.paths.attempts, ignore_errors=True)
