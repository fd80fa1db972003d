"""What a call prints can be read while it runs, and nothing of that is left afterwards."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.world import Budwood
from tests.executors.calling import Desk, Shop, at_desk
from tests.executors.looks import wait_for
from tests.support.scene import REPOSITORY

from budwood._core.model import AttemptPhase
from budwood.cli.logs import LogTail, is_unordered
from budwood.executors.base import Recovered

FUNCTIONS = """
import os, time

def wait():
    while not os.path.exists("go"):
        time.sleep(0.01)

def hold(text):
    print(text)
    open("said", "w").close()
    wait()
    print("over")

def say_much(count):
    for number in range(count):
        print("%09d" % number)
    open("said", "w").close()
    wait()

def hold_for_ever():
    print("held")
    time.sleep(600)
"""


@pytest.fixture
def budwood(tmp_path: Path) -> Iterator[Budwood]:
    world = Budwood(tmp_path / "project")
    (world.root / "work.py").write_text(FUNCTIONS)
    try:
        yield world
    finally:
        world.end()


def test_the_log_of_a_running_call_is_in_its_attempts_directory_until_it_ends(desk: Desk) -> None:
    for text in ("first", "second"):
        (desk.shop.root / "go").unlink(missing_ok=True)
        work = desk.shop.work("hold", text)
        desk.begin(work)
        directory = desk.shop.paths.attempt(work.id)
        assert (directory / "log").read_text() == f"{text}\n"
        assert LogTail(directory).read() == f"{text}\n".encode()
        assert not is_unordered(directory)
        (desk.shop.root / "go").touch()
        assert desk.end_of(work.id).phase is AttemptPhase.SUCCEEDED
        assert desk.last_log == f"{text}\nover\n".encode()
        assert not directory.exists()


def test_a_large_log_takes_the_place_of_the_link(desk: Desk) -> None:
    work = desk.shop.work("say_much", 20_000)
    desk.begin(work)
    (desk.shop.root / "go").touch()
    assert desk.end_of(work.id).measure.output_bytes == 200_000
    assert desk.last_log is not None
    assert len(desk.last_log) == 200_000
    assert sorted(path.name for path in desk.shop.paths.attempt(work.id).iterdir()) == ["log"]
    assert not (desk.shop.paths.attempt(work.id) / "log").is_symlink()
    desk.executor.forget(work.id)
    assert not desk.shop.paths.attempt(work.id).exists()


def test_a_driver_that_leaves_takes_the_links_away(shop: Shop) -> None:
    with at_desk(shop) as desk:
        work = shop.work("hold_for_ever")
        desk.begin(work)
        desk.executor.close()
        assert not shop.paths.attempt(work.id).exists()


def test_links_that_a_killed_driver_left_are_no_attempt(shop: Shop) -> None:
    command = [sys.executable, "-m", "tests.executors.calling", str(shop.root), "hold_for_ever"]
    with subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        process.send_signal(signal.SIGKILL)
    work = shop.work("hold_for_ever")
    assert (shop.paths.attempt(work.id) / "log").is_symlink()
    with at_desk(shop, 2) as desk:
        assert desk.recover(work) == [Recovered.UNSENT]
        assert list(shop.paths.attempts.iterdir()) == []
        desk.begin(work)
        assert (shop.paths.attempt(work.id) / "log").read_text() == "held\n"


def test_the_program_shows_and_follows_what_a_running_call_prints(budwood: Budwood) -> None:
    budwood.plan("[[task]]\nid = 'a'\nfunction = 'work:hold'\nargs = ['begun']\n")
    driver = budwood.start("run", "plan.toml")
    wait_for((budwood.root / "said").exists)
    wait_for(lambda: budwood.call("logs", "plan", "a").out == "begun\n")
    follower = budwood.start("logs", "plan", "a", "-f")
    assert follower.stdout is not None
    assert follower.stdout.readline() == "begun\n"
    (budwood.root / "go").touch()
    assert follower.stdout.read() == "over\n"
    assert driver.wait() == 0
    assert budwood.call("logs", "plan", "a").out == "begun\nover\n"


def test_of_much_output_of_a_running_call_both_ends_are_shown(budwood: Budwood) -> None:
    (budwood.root / "budwood.toml").write_text("[run]\noutput = '20kB'\n")
    budwood.plan("[[task]]\nid = 'a'\nfunction = 'work:say_much'\nargs = [200000]\n")
    driver = budwood.start("run", "plan.toml")
    wait_for((budwood.root / "said").exists)
    wait_for(lambda: budwood.call("logs", "plan", "a").out)
    said = budwood.call("logs", "plan", "a").out.splitlines()
    assert (said[0], said[-1]) == ("000000000", "000199999")
    assert said[1000] == "[budwood: 1980000 bytes dropped here]"
    (budwood.root / "go").touch()
    assert driver.wait() == 0
    assert budwood.call("logs", "plan", "a").out.splitlines() == said
