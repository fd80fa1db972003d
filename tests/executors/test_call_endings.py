"""Functions that end their process, block signals, fork, leak or run too long: nothing of them is left for the next."""

import os
import sys
import time
from pathlib import Path

import msgspec
import pytest
from tests.executors.calling import Desk
from tests.executors.looks import wait_for

from budwood._core.model import AttemptPhase
from budwood.errors import ExecutorError

pytestmark = pytest.mark.slow
FUNCTIONS = """
import ctypes, multiprocessing, os, signal, subprocess, sys, time

HELD = []

def pid():
    return os.getpid()

def leave(code):
    print("about to leave")
    print("no line end", end="")
    sys.stdout.flush()
    os._exit(code)

def abort():
    print("about to abort")
    os.abort()

def crash():
    ctypes.string_at(0)

def kill(number):
    os.kill(os.getpid(), number)
    time.sleep(30)

def loop_deaf():
    signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    subprocess.Popen(["setsid", "sleep", "300"])
    while True:
        pass

def sleep(seconds):
    time.sleep(seconds)
    return seconds

def fork_and_return():
    return os.fork() and "parent"

def fork_and_raise():
    if os.fork() == 0:
        raise ValueError("in the child")
    os.wait()
    return "parent"

def fork_and_exit():
    child = os.fork()
    if child == 0:
        print("in the child")
        sys.exit(7)
    return os.WEXITSTATUS(os.waitpid(child, 0)[1])

def fork_and_stay():
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(300)
    return child

def daemonise():
    child = os.fork()
    if child:
        return int(os.read(PIPE[0], 20))
    os.setsid()
    if os.fork():
        os._exit(0)
    os.write(PIPE[1], str(os.getpid()).encode())
    for fd in range(64):
        try:
            os.close(fd)
        except OSError:
            pass
    time.sleep(300)

PIPE = os.pipe()

def zombies():
    children = [subprocess.Popen(["true"]) for _ in range(3)]
    for child in children:
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    return os.getpid()

def run_a_program():
    return [subprocess.run(["echo", "hi"], capture_output=True, text=True, check=True).stdout, os.getpid()]

def pool():
    with multiprocessing.get_context("fork").Pool(2) as pool:
        return [pool.map(abs, [-1, -2]), os.getpid()]

def spawned_pool():
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.map(abs, [-1, -2])

def leak(megabytes):
    HELD.append(b"x" * (megabytes << 20))
    return os.getpid()

def hog(megabytes):
    print("about to hog")
    HELD.append(b"x" * (megabytes << 20))
    time.sleep(30)

def close_everything():
    os.closerange(3, 256)
    print("closed")

def babble(text):
    for name in os.listdir("/proc/self/fd"):
        try:
            if os.readlink("/proc/self/fd/" + name).startswith("socket:"):
                os.write(int(name), text.encode())
        except OSError:
            pass

def die_slowly(code):
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        open("ready", "w").close()
        time.sleep(300)
    while not os.path.exists("ready"):
        time.sleep(0.01)
    os._exit(code)

def hang_up():
    os.closerange(3, 256)
    time.sleep(30)
"""

NESTED = f'{{"id": "1.1", "result": {"[" * 5000}{"]" * 5000}}}\n'


@pytest.mark.parametrize("code", [0, 3, 255])
def test_a_function_that_ends_the_process_fails_with_the_exit_code(desk: Desk, code: int) -> None:
    before = desk.result("pid")
    outcome = desk.call("leave", code)
    assert (outcome.phase, outcome.error_type, outcome.exit_code) == (AttemptPhase.FAILED, "exit", code)
    assert outcome.message == f"the worker ended in this call: exit code {code}"
    assert desk.last_log == b"about to leave\nno line end"
    assert outcome.measure.output_bytes == 26
    assert (outcome.pid, outcome.measure.wall_s < 20) == (before, True)
    assert desk.result("pid") != before


@pytest.mark.parametrize(
    ("function", "args", "name"),
    [
        ("abort", (), "SIGABRT"),
        ("crash", (), "SIGSEGV"),
        ("kill", (9,), "SIGKILL"),
        ("kill", (15,), "SIGTERM"),
    ],
)
def test_a_function_that_crashes_says_the_signal(
    desk: Desk, function: str, args: tuple[object, ...], name: str
) -> None:
    outcome = desk.call(function, *args)
    assert (outcome.phase, outcome.error_type) == (AttemptPhase.FAILED, "signal")
    assert outcome.message == f"the worker ended in this call: ended by signal {name}"
    if name in ("SIGABRT", "SIGSEGV"):  # where it was is in the log
        assert desk.last_log is not None
        assert f"in {function}".encode() in desk.last_log
    assert desk.result("pid")


def test_a_time_limit_ends_what_blocks_all_signals_with_all_that_it_started(desk: Desk) -> None:
    outcome = desk.changed(desk.shop.work("loop_deaf"), timeout_s=0.3)
    assert (outcome.phase, outcome.error_type) == (AttemptPhase.TIMED_OUT, "timeout")
    assert outcome.message == "stopped at its time limit of 0.3 s"
    assert 0.3 <= outcome.measure.wall_s < 10
    assert desk.shop.survivors() == []
    assert desk.result("pid")


def test_a_time_limit_does_not_include_the_start_of_the_worker(desk: Desk) -> None:
    slow = desk.shop.root / "slow-python"
    slow.write_text(f'#!/bin/sh\nsleep 1.5\nexec {sys.executable} "$@"\n')
    slow.chmod(0o755)
    work = msgspec.structs.replace(desk.shop.work("sleep", 0.0), timeout_s=1.0)
    assert desk.python(work, str(slow)).phase is AttemptPhase.SUCCEEDED


def test_the_time_limit_of_a_call_that_ended_harms_nobody(desk: Desk) -> None:
    pid = desk.result("pid")
    for timeout_s in (0.4, None, 0.4, 20.0):
        work = desk.shop.work("sleep", 0.0 if timeout_s == 0.4 else 0.6)
        assert desk.changed(work, timeout_s=timeout_s).phase is AttemptPhase.SUCCEEDED
    assert desk.changed(desk.shop.work("sleep", 0.0), timeout_s=0.4).phase is AttemptPhase.SUCCEEDED
    desk.turn_for(0.8)  # the limit is lifted while nothing is called
    assert desk.result("pid") == pid


def test_cancelling_ends_a_function_that_blocks_all_signals(desk: Desk) -> None:
    work = desk.shop.work("loop_deaf")
    desk.begin(work)
    desk.executor.cancel(work.id)
    outcome = desk.end_of(work.id)
    assert (outcome.phase, outcome.error_type, outcome.message) == (AttemptPhase.CANCELLED, "cancelled", "cancelled")
    assert desk.shop.survivors() == []
    assert desk.result("pid")


def test_a_forked_child_that_returns_says_nothing(desk: Desk) -> None:
    assert desk.result("fork_and_return") == "parent"
    assert desk.result("fork_and_raise") == "parent"
    assert desk.last_log is not None
    assert desk.last_log.endswith(b"ValueError: in the child\n")
    assert b"main.py" not in desk.last_log
    assert desk.result("fork_and_exit") == 7
    assert desk.last_log == b"in the child\n"
    assert len(desk.endings) == 3


@pytest.mark.parametrize("function", ["fork_and_stay", "daemonise"])
def test_processes_that_a_call_leaves_are_ended_before_its_end_is_told(desk: Desk, function: str) -> None:
    before = desk.result("pid")
    outcome = desk.call(function)
    child = msgspec.json.decode(outcome.result)  # type: ignore[arg-type]
    assert outcome.phase is AttemptPhase.SUCCEEDED
    assert outcome.measure.ended_processes == 1
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)
    assert desk.result("pid") != before


def test_children_that_have_ended_cost_no_worker(desk: Desk) -> None:
    before = desk.result("pid")
    assert desk.result("zombies") == before
    assert desk.result("run_a_program") == ["hi\n", before]
    assert desk.result("pool") == [[1, 2], before]
    assert desk.result("spawned_pool") == [1, 2]


def test_a_worker_that_leaks_is_replaced_between_two_calls(desk: Desk) -> None:
    def leak(megabytes: int) -> object:
        work = desk.shop.work("leak", megabytes)
        assert work.call is not None
        call = msgspec.structs.replace(work.call, worker_memory_bytes=100 << 20)
        return msgspec.json.decode(desk.changed(work, call=call).result)  # type: ignore[arg-type]

    pids = [leak(30) for _ in range(12)]
    assert 3 <= len(set(pids)) <= 6
    assert all(outcome.phase is AttemptPhase.SUCCEEDED for _, outcome, _ in desk.endings)


def test_a_worker_that_leaks_is_replaced_before_its_calls_reach_their_own_limit(desk: Desk) -> None:
    for _ in range(20):
        assert desk.changed(desk.shop.work("leak", 20), memory_bytes=200 << 20).phase is AttemptPhase.SUCCEEDED


def test_a_memory_limit_ends_the_call(desk: Desk) -> None:
    outcome = desk.changed(desk.shop.work("hog", 300), memory_bytes=150 << 20)
    assert (outcome.phase, outcome.error_type) == (AttemptPhase.FAILED, "memory")
    assert outcome.message.startswith("stopped above its memory limit, at ")
    assert desk.last_log == b"about to hog\n"
    assert desk.result("pid")


@pytest.mark.parametrize("function", ["close_everything", "hang_up"])
def test_a_function_that_closes_the_workers_files_fails_and_the_next_call_works(desk: Desk, function: str) -> None:
    outcome = desk.call(function)
    assert (outcome.phase, outcome.error_type) == (AttemptPhase.FAILED, "exit")
    if function == "close_everything":
        assert outcome.message == "the worker ended in this call: exit code 1"
        assert desk.last_log == b"closed\nbudwood: the function closed files that belong to its worker\n"
    else:
        assert outcome.message == "the worker no longer answered in this call and was ended"
    assert desk.result("pid")


def test_a_worker_that_is_killed_between_two_calls_is_replaced(desk: Desk) -> None:
    pid = desk.result("pid")
    assert isinstance(pid, int)
    os.kill(pid, 9)
    wait_for(lambda: not Path(f"/proc/{pid}").exists() or "Z" in Path(f"/proc/{pid}/stat").read_text())
    desk.turn_for(0.1)
    assert desk.result("pid") != pid


def test_a_call_can_be_cancelled_while_its_worker_starts(desk: Desk) -> None:
    work = desk.shop.work("pid")
    desk.executor.start(work)
    began = time.monotonic()
    desk.executor.cancel(work.id)
    assert desk.end_of(work.id).phase is AttemptPhase.CANCELLED
    assert time.monotonic() - began < 0.5
    assert desk.result("pid")


@pytest.mark.parametrize("text", ["garbage\n", '{"id": "7.7"}\n', "{}\n", "no end", NESTED])
def test_a_function_that_writes_on_the_workers_line_fails_alone(desk: Desk, text: str) -> None:
    outcome = desk.call("babble", text)
    assert (outcome.phase, outcome.error_type) == (AttemptPhase.FAILED, "exit")
    assert outcome.message == "the worker no longer answered in this call and was ended"
    assert desk.result("pid")


def test_an_exit_code_is_told_though_what_the_call_left_takes_its_time(desk: Desk) -> None:
    work = msgspec.structs.replace(desk.shop.work("die_slowly", 6), grace_s=1.6)
    outcome = desk.outcome(work)
    assert (outcome.exit_code, outcome.message) == (6, "the worker ended in this call: exit code 6")
    assert outcome.measure.ended_processes == 1


def test_a_worker_that_dies_before_it_says_who_it_is_does_not_start(desk: Desk) -> None:
    knock = "import json, socket, sys; path = json.loads(sys.argv[2])['socket']; print('I go')"
    knock += "; socket.socket(socket.AF_UNIX).connect(path)"
    script = desk.shop.root / "knocks"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{knock}" "$@"\n')
    script.chmod(0o755)
    outcome = desk.python(desk.shop.work("pid"), str(script))
    assert (outcome.error_type, outcome.message) == ("spawn", "no worker starts: exit code 0; it said: I go")
    assert desk.result("pid")


def test_a_slot_takes_one_call_at_a_time(desk: Desk) -> None:
    desk.executor.start(desk.shop.work("pid"))
    with pytest.raises(ExecutorError, match=r"slot 0 was given 2\.1 while 1\.1 ran in it"):
        desk.executor.start(desk.shop.work("pid"))
    desk.executor.cancel("2.1")
    assert desk.end_of("1.1").phase is AttemptPhase.SUCCEEDED


def test_cancelling_what_was_cancelled_does_not_reach_the_next_call(desk: Desk) -> None:
    desk.executor.start(desk.shop.work("pid"))
    desk.executor.cancel("1.1")
    desk.executor.start(desk.shop.work("pid"))
    desk.executor.cancel("1.1")
    assert desk.end_of("2.1").phase is AttemptPhase.SUCCEEDED
    assert desk.end_of("1.1").phase is AttemptPhase.CANCELLED
