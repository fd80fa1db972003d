"""The cap over all runs of a machine: never passed, given back by the kernel, and nobody polls."""

import fcntl
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.executors.capped import TASKS, capped_scene
from tests.executors.looks import wait_for
from tests.support.scene import REPOSITORY, survivors

from budwood.engine.loop import SelectorLoop
from budwood.executors.local import Tokens


@pytest.fixture
def loop() -> Iterator[SelectorLoop]:
    with closing(SelectorLoop()) as made:
        yield made


def turn_until(loop: SelectorLoop, heard: list[str], *, within_s: float) -> None:
    """Turn until something was heard or the time is over."""
    over: list[bool] = []
    loop.later(within_s, lambda: over.append(True))
    while not heard and not over:
        loop.turn()


def test_there_are_as_many_as_the_limit_says_and_they_come_back(tmp_path: Path, loop: SelectorLoop) -> None:
    tokens = Tokens(tmp_path / "tokens", 2, loop=loop)
    first, second = tokens.take(), tokens.take()
    assert first is not None
    assert second is not None
    assert tokens.take() is None
    os.close(first)
    third = tokens.take()
    assert third is not None
    for fd in (second, third):
        os.close(fd)


def test_another_driver_takes_from_the_same_heap(tmp_path: Path, loop: SelectorLoop) -> None:
    mine, theirs = (Tokens(tmp_path / "tokens", 1, loop=loop) for _ in range(2))
    token = mine.take()
    assert token is not None
    assert theirs.take() is None
    os.close(token)


def test_giving_one_back_wakes_who_waits(tmp_path: Path, loop: SelectorLoop) -> None:
    mine, theirs = (Tokens(tmp_path / "tokens", 1, loop=loop) for _ in range(2))
    token = mine.take()
    assert token is not None
    assert theirs.take() is None
    heard: list[str] = []
    theirs.when_free(lambda: heard.append("free"))
    os.close(token)
    turn_until(loop, heard, within_s=10)
    assert heard
    token = theirs.take()
    assert token is not None
    os.close(token)
    theirs.rest()


def test_looking_for_one_wakes_nobody(tmp_path: Path, loop: SelectorLoop) -> None:
    """If it did, two that wait would wake each other for ever."""
    holder, one, two = (Tokens(tmp_path / "tokens", 2, loop=loop) for _ in range(3))
    held = [holder.take(), holder.take()]
    heard: list[str] = []
    assert one.take() is None
    one.when_free(lambda: heard.append("one"))
    turn_until(loop, heard, within_s=0.05)
    heard.clear()
    for _ in range(20):
        assert two.take() is None
    turn_until(loop, heard, within_s=0.1)
    assert heard == []
    one.rest()
    for fd in held:
        assert fd is not None
        os.close(fd)


def test_one_that_came_back_while_nobody_listened_yet_is_not_missed(tmp_path: Path, loop: SelectorLoop) -> None:
    mine, theirs = (Tokens(tmp_path / "tokens", 1, loop=loop) for _ in range(2))
    token = mine.take()
    assert token is not None
    assert theirs.take() is None
    os.close(token)
    heard: list[str] = []
    try:
        theirs.when_free(lambda: heard.append("free"))
        turn_until(loop, heard, within_s=0.3)
        assert heard
    finally:
        theirs.rest()


def start(root: Path, *, tokens: Path, limit: int) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "tests.executors.capped", str(root), str(tokens), str(limit)]
    return subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True)


def most_at_once(trace: Path) -> int:
    """Count from what the attempts themselves wrote, in the order in which they wrote it."""
    now = most = 0
    for sign in trace.read_text().split():
        now += 1 if sign == "+" else -1
        most = max(most, now)
    return most


@pytest.mark.parametrize("limit", [1, 2])
def test_two_runs_never_pass_the_cap_and_look_only_when_something_changed(tmp_path: Path, limit: int) -> None:
    roots = [tmp_path / "one", tmp_path / "two"]
    for root in roots:
        root.mkdir()
    running = [start(root, tokens=tmp_path / "tokens", limit=limit) for root in roots]
    told = [process.communicate(timeout=90)[0].split() for process in running]
    assert [code for code, _ in told] == ["0", "0"]
    assert (tmp_path / "trace").read_text().count("+") == 2 * TASKS
    assert most_at_once(tmp_path / "trace") == limit
    # Each attempt gives its place back once; each of two drivers then looks once for each of its three slots.
    assert all(int(looks) < 2 * TASKS * 3 * 2 for _, looks in told), told
    assert [survivors(capped_scene(root)) for root in roots] == [[], []]


def test_an_attempt_keeps_its_place_when_its_driver_is_killed(tmp_path: Path, loop: SelectorLoop) -> None:
    root = tmp_path / "run"
    root.mkdir()
    os.mkfifo(tmp_path / "gate")
    folder = tmp_path / "tokens"
    driver = start(root, tokens=folder, limit=1)
    wait_for((tmp_path / "trace").exists)
    driver.kill()
    driver.communicate()
    tokens = Tokens(folder, 1, loop=loop)
    assert tokens.take() is None
    heard: list[str] = []
    tokens.when_free(lambda: heard.append("free"))
    (tmp_path / "gate").write_text("go\n")
    (tmp_path / "gate").unlink()
    found: list[int] = []
    deadline = time.monotonic() + 20
    while not found and time.monotonic() < deadline:
        turn_until(loop, heard, within_s=5)
        heard.clear()
        found = [fd for fd in [tokens.take()] if fd is not None]
    assert found
    fcntl.flock(found[0], fcntl.LOCK_UN)
    os.close(found[0])
    tokens.rest()
    assert (tmp_path / "trace").read_text().split() == ["+", "-"]
