"""The driver's loop: descriptors, timers, and being woken from elsewhere."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import closing

import pytest

from budwood.engine.loop import SelectorLoop

pytestmark = pytest.mark.timeout(30)


@pytest.fixture
def loop() -> Iterator[SelectorLoop]:
    with closing(SelectorLoop()) as made:
        yield made


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    yield ends
    for fd in ends:
        os.close(fd)


def test_a_readable_descriptor_is_told(loop: SelectorLoop, pipe: tuple[int, int]) -> None:
    heard: list[bytes] = []
    loop.watch(pipe[0], lambda: heard.append(os.read(pipe[0], 10)))
    os.write(pipe[1], b"x")
    loop.turn()
    assert heard == [b"x"]


def test_a_writable_descriptor_is_told_if_somebody_wants_to_know(loop: SelectorLoop, pipe: tuple[int, int]) -> None:
    heard: list[str] = []
    loop.watch(pipe[1], lambda: heard.append("read"), on_writable=lambda: heard.append("write"))
    loop.turn()
    assert heard == ["write"]
    loop.watch(pipe[1], lambda: heard.append("read"))
    loop.later(0.0, lambda: heard.append("timer"))
    loop.turn()
    assert heard == ["write", "timer"]


def test_watching_again_replaces_the_call_backs(loop: SelectorLoop, pipe: tuple[int, int]) -> None:
    heard: list[str] = []
    loop.watch(pipe[0], lambda: heard.append("old"))
    loop.watch(pipe[0], lambda: heard.append("new"))
    os.write(pipe[1], b"x")
    loop.turn()
    assert heard == ["new"]


def test_what_is_forgotten_is_not_told_even_in_the_same_turn(loop: SelectorLoop) -> None:
    heard: list[int] = []
    ends = [os.pipe() for _ in range(2)]

    def first_come(mine: int, other: int) -> None:
        heard.append(mine)
        loop.forget(other)

    for (mine, _), (other, _) in ((ends[0], ends[1]), (ends[1], ends[0])):
        loop.watch(mine, lambda mine=mine, other=other: first_come(mine, other))  # type: ignore[misc]
    for _, write in ends:
        os.write(write, b"x")
    loop.turn()
    assert len(heard) == 1
    for read, write in ends:
        loop.forget(read)
        loop.forget(read)  # harmless
        os.close(read)
        os.close(write)


def test_timers_fire_in_the_order_of_their_times_and_those_of_one_time_in_theirs(loop: SelectorLoop) -> None:
    heard: list[str] = []
    loop.later(0.02, lambda: heard.append("last"))
    loop.later(0.0, lambda: heard.append("first"))
    loop.later(0.0, lambda: heard.append("second"))
    while len(heard) < 3:
        loop.turn()
    assert heard == ["first", "second", "last"]


def test_a_timer_is_not_early_and_fires_once(loop: SelectorLoop) -> None:
    heard: list[float] = []
    began = time.monotonic()
    loop.later(0.03, lambda: heard.append(time.monotonic() - began))
    while not heard:
        loop.turn()
    loop.later(0.01, lambda: heard.append(0.0))
    while len(heard) < 2:
        loop.turn()
    assert heard[0] >= 0.03
    assert heard[1] == 0.0


def test_a_timer_that_is_set_by_a_timer_fires(loop: SelectorLoop) -> None:
    heard: list[str] = []
    loop.later(0.0, lambda: loop.later(0.0, lambda: heard.append("inner")))
    while not heard:
        loop.turn()


def test_another_thread_can_wake_it(loop: SelectorLoop) -> None:
    turned = threading.Event()
    entered = threading.Event()

    def wait() -> None:
        entered.set()
        loop.turn()
        turned.set()

    thread = threading.Thread(target=wait)
    thread.start()
    entered.wait()
    loop.wake()
    assert turned.wait(10)
    thread.join()


def test_any_number_of_wake_ups_never_blocks_and_is_over_soon(loop: SelectorLoop) -> None:
    for _ in range(100_000):  # more than a pipe holds
        loop.wake()
    heard: list[str] = []
    loop.later(0.05, lambda: heard.append("later"))
    turns = 0
    while not heard:
        loop.turn()
        turns += 1
    assert turns < 50  # it did not go round and round


def test_a_signal_handler_can_wake_it(loop: SelectorLoop) -> None:
    before = signal.signal(signal.SIGUSR1, lambda *_: loop.wake())
    try:
        loop.later(0.0, lambda: os.kill(os.getpid(), signal.SIGUSR1))
        loop.turn()
        loop.turn()
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_waking_a_closed_loop_is_harmless_and_writes_into_nobody_elses_file() -> None:
    loop = SelectorLoop()
    loop.close()
    ends = os.pipe()  # gets the numbers that the loop gave back
    os.set_blocking(ends[0], False)
    loop.wake()
    with pytest.raises(BlockingIOError):
        os.read(ends[0], 1)
    for fd in ends:
        os.close(fd)


def test_a_closed_loop_has_nothing_open() -> None:
    before = len(os.listdir("/proc/self/fd"))
    SelectorLoop().close()
    assert len(os.listdir("/proc/self/fd")) == before
