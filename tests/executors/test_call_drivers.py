"""Workers and their driver: they end with it, obey its limits while it is stopped, and count on the machine."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import psutil
import pytest
from tests.executors.calling import Shop, at_desk
from tests.executors.looks import wait_for
from tests.support.scene import REPOSITORY

from budwood._core.model import AttemptPhase
from budwood.engine.loop import SelectorLoop
from budwood.executors.base import Recovered
from budwood.executors.local import Tokens

pytestmark = pytest.mark.slow
FUNCTIONS = """
import atexit, os, signal, subprocess, time

def pid():
    return os.getpid()

def deaf():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    subprocess.Popen(["setsid", "sleep", "300"])
    while True:
        time.sleep(0.01)

def sleep(seconds):
    time.sleep(seconds)

def say_goodbye():
    atexit.register(lambda: open("goodbye", "w").close())

def trace():
    with open("trace", "a") as file:
        file.write("+\\n")
    time.sleep(0.02)
    with open("trace", "a") as file:
        file.write("-\\n")
"""


@pytest.fixture
def driver(shop: Shop) -> "Iterator[subprocess.Popen[str]]":
    """Another process that drives, with a call that does not want to end."""
    command = [sys.executable, "-m", "tests.executors.calling", str(shop.root), "deaf"]
    with subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        yield process
        process.kill()
    wait_for(lambda: not shop.survivors(), within_s=15)


def test_nothing_of_a_call_outlives_its_killed_driver(shop: Shop, driver: "subprocess.Popen[str]") -> None:
    assert len(shop.survivors()) >= 2
    driver.kill()
    wait_for(lambda: not shop.survivors(), within_s=15)
    wait_for(lambda: not shop.paths.runtime.exists())


def test_the_next_driver_waits_until_nothing_is_left_of_the_call(shop: Shop, driver: "subprocess.Popen[str]") -> None:
    driver.kill()
    with at_desk(shop, 2) as desk:
        work = shop.work("pid")
        assert desk.recover(work) == [Recovered.UNSENT]
        assert shop.survivors() == []
        assert desk.outcome(work).phase is AttemptPhase.SUCCEEDED


def test_the_next_driver_ends_a_worker_whose_supervisor_was_killed_too(
    shop: Shop, driver: "subprocess.Popen[str]"
) -> None:
    info = msgspec.json.decode((shop.paths.slot("w0") / "info.json").read_bytes())
    driver.send_signal(signal.SIGSTOP)  # so that it does not see to it itself
    os.kill(info["pid"], signal.SIGKILL)
    driver.kill()
    assert len(shop.survivors()) >= 2
    with at_desk(shop, 2) as desk:
        work = shop.work("pid")
        assert desk.recover(work) == [Recovered.UNSENT]
        assert shop.survivors() == []
        assert desk.outcome(work).phase is AttemptPhase.SUCCEEDED


def test_a_driver_that_takes_over_ends_the_workers_of_one_that_lives(
    shop: Shop, driver: "subprocess.Popen[str]"
) -> None:
    driver.send_signal(signal.SIGSTOP)
    with at_desk(shop, 2) as desk:
        assert desk.recover(shop.work("pid")) == [Recovered.UNSENT]
        assert shop.survivors() == []
        assert desk.call("pid").phase is AttemptPhase.SUCCEEDED


def test_a_time_limit_holds_while_the_driver_does_not_look(shop: Shop) -> None:
    with at_desk(shop) as desk:
        assert isinstance(desk.result("pid"), int)
        work = msgspec.structs.replace(shop.work("deaf"), timeout_s=0.3)
        desk.executor.start(work)
        wait_for(lambda: len(shop.survivors()) >= 2)
        wait_for(lambda: not shop.survivors(), within_s=15)
        assert desk.ends_of(work.id) == []
        assert desk.end_of(work.id).phase is AttemptPhase.TIMED_OUT


def test_leaving_does_not_wait_for_a_call_that_is_stuck(shop: Shop) -> None:
    with at_desk(shop) as desk:
        desk.begin(shop.work("deaf"))
        began = time.monotonic()
        desk.executor.close()
        assert time.monotonic() - began < 0.4


def test_an_idle_worker_leaves_in_its_own_way(shop: Shop) -> None:
    with at_desk(shop) as desk:
        assert desk.call("say_goodbye").phase is AttemptPhase.SUCCEEDED
        desk.executor.close()
        assert shop.survivors() == []
        assert (shop.root / "goodbye").exists()


def test_a_worker_that_is_replaced_leaves_in_its_own_way(shop: Shop) -> None:
    with at_desk(shop) as desk:
        desk.call("say_goodbye")
        desk.changed(shop.work("pid"), memory_bytes=10**9)
        assert (shop.root / "goodbye").exists()


def test_leaving_leaves_nothing_behind(shop: Shop) -> None:
    with at_desk(shop) as desk:
        for number in range(1, 4):
            desk.call("pid")
            desk.executor.forget(f"{number}.1")
    wait_for(lambda: not shop.paths.runtime.exists())
    assert list(shop.paths.attempts.iterdir()) == []
    assert sorted(path.name for path in shop.paths.slot("w0").iterdir()) == ["lock", "stderr"]
    assert (shop.paths.slot("w0") / "stderr").read_bytes() == b""


def test_a_call_waits_for_a_place_on_the_machine_and_gives_it_back(shop: Shop, tmp_path: Path) -> None:
    folder = tmp_path / "tokens"
    with closing(SelectorLoop()) as loop, at_desk(Shop(shop.root, tokens=(folder, 1))) as desk:
        tokens = Tokens(folder, 1, loop=loop)
        held = tokens.take()
        assert held is not None
        work = desk.shop.work("pid")
        desk.executor.start(work)
        desk.turn_for(0.5)
        assert desk.ends_of(work.id) == []
        os.close(held)
        assert desk.end_of(work.id).phase is AttemptPhase.SUCCEEDED
        held = tokens.take()
        assert held is not None
        os.close(held)


def test_a_call_that_waits_for_a_place_can_be_cancelled(shop: Shop, tmp_path: Path) -> None:
    folder = tmp_path / "tokens"
    with closing(SelectorLoop()) as loop, at_desk(Shop(shop.root, tokens=(folder, 1))) as desk:
        held = Tokens(folder, 1, loop=loop).take()
        assert held is not None
        work = desk.shop.work("pid")
        desk.executor.start(work)
        desk.turn_for(0.3)
        desk.executor.cancel(work.id)
        assert desk.end_of(work.id).phase is AttemptPhase.CANCELLED
        os.close(held)
        assert desk.call("pid").phase is AttemptPhase.SUCCEEDED


def test_calls_in_several_slots_never_pass_the_cap(shop: Shop, tmp_path: Path) -> None:
    with at_desk(Shop(shop.root, tokens=(tmp_path / "tokens", 2))) as desk:
        works = [msgspec.structs.replace(desk.shop.work("trace"), slot=slot) for slot in range(4)]
        for work in works:
            desk.executor.start(work)
        for work in works:
            assert desk.end_of(work.id).phase is AttemptPhase.SUCCEEDED
    now = most = 0
    for sign in (shop.root / "trace").read_text().split():
        now += 1 if sign == "+" else -1
        most = max(most, now)
    assert most <= 2


def test_a_program_that_drives_often_keeps_no_zombies(shop: Shop) -> None:
    def zombies() -> int:
        own = psutil.Process().children()
        return sum(child.status() == psutil.STATUS_ZOMBIE and "supervis" in child.name() for child in own)

    for fence in range(1, 5):
        with at_desk(shop, fence) as desk:
            assert zombies() <= 1  # the one before may have ended since it was looked for
            assert desk.call("pid").phase is AttemptPhase.SUCCEEDED
            desk.executor.forget(f"{fence}.1")
        wait_for(lambda: not shop.paths.runtime.exists())
