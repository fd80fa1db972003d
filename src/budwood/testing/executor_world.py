"""What an executor supplies to be examined: a machine on which attempts can be made, held, let go and lost.

Knows the contract of executors; must not know any real one.
"""

import selectors
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from heapq import heappop, heappush
from itertools import count
from typing import Literal

import pytest

from budwood._core.events import Event
from budwood._core.model import Outcome
from budwood.executors.base import Executor, Recovered, Work

WITHIN_S = 30.0
"""No wait lasts longer; what takes so long has failed."""

Kind = Literal["succeeds", "fails", "holds", "prints", "reads"]
"""What each step of an attempt does: ends with 0; ends with 3; waits until it is let go, then ends with 0; prints
`hello`; prints what it reads."""


CallKind = Literal["returns", "raises", "dies", "holds", "prints", "spends"]
"""What a call does: returns `[its id, {"and": null}]`; raises `ValueError("not today")`; ends its process with exit
code 3; waits until it is let go, then returns the same; prints `hello` and returns the same; says that it cost 0.5 USD,
then waits for ever."""


class ExecutorWorld(ABC):
    """One machine; each executor made on it stands for a driver's process."""

    @abstractmethod
    def executor(self) -> Executor:
        """Make an executor for one more driver of the same run."""

    @abstractmethod
    def work(self, work_id: str, kind: Kind, *, slot: int = 0, timeout_s: float | None = None) -> Work:
        """Describe an attempt of one step that does this; its grace period is short."""

    @abstractmethod
    def call(self, work_id: str, kind: CallKind, *, slot: int = 0, timeout_s: float | None = None) -> Work:
        """Describe a call that does this; its grace period is short."""

    @abstractmethod
    def let_go(self, work_id: str) -> None:
        """Let an attempt that holds go on to its end."""

    @abstractmethod
    def transcript(self, work_id: str, name: str) -> bytes:
        """Read what a step of an ended attempt printed into the transcript of this name."""

    @abstractmethod
    def lose(self, work_id: str) -> None:
        """Kill what would have kept the result of a running attempt, so that there will be none."""

    @abstractmethod
    def runs_of(self, work_id: str) -> int:
        """Count how often an attempt really ran."""


class TurnLoop:
    """The smallest loop that an executor can live in."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._timers: list[tuple[float, int, Callable[[], None]]] = []
        self._tickets = count()

    def watch(self, fd: int, on_readable: Callable[[], None], *, on_writable: Callable[[], None] | None = None) -> None:
        self.forget(fd)
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if on_writable is not None else 0)
        self._selector.register(fd, events, (on_readable, on_writable))

    def forget(self, fd: int) -> None:
        if fd in self._selector.get_map():
            self._selector.unregister(fd)

    def later(self, delay_s: float, call: Callable[[], None]) -> None:
        heappush(self._timers, (time.monotonic() + delay_s, next(self._tickets), call))

    def turn(self, most_s: float) -> None:
        """Wait for something, at most so long, and tell whom it concerns."""
        if self._timers:
            most_s = min(most_s, max(0.0, self._timers[0][0] - time.monotonic()))
        for key, mask in self._selector.select(most_s):
            on_readable, on_writable = key.data
            if mask & selectors.EVENT_WRITE and on_writable is not None:
                on_writable()
            if mask & selectors.EVENT_READ and key.fd in self._selector.get_map():
                on_readable()
        while self._timers and self._timers[0][0] <= time.monotonic():
            heappop(self._timers)[2]()

    def close(self) -> None:
        self._selector.close()


class Post:
    """A driver's place: an executor, its loop, and what it was told."""

    def __init__(self, world: ExecutorWorld, fence: int) -> None:
        self.executor = world.executor()
        self.loop = TurnLoop()
        self.begun_pids: dict[str, int] = {}
        self.takings: list[tuple[str, int]] = []
        self.endings: list[tuple[str, Outcome, bytes | None]] = []
        self.retired_slots: list[int] = []
        self.executor.open(fence, loop=self.loop, sink=self)

    def begun(self, work_id: str, *, pid: int, at_ms: int) -> None:
        assert not self.ends_of(work_id), f"{work_id} began after its end"
        self.begun_pids[work_id] = pid

    def taken(self, work_id: str, *, slot: int) -> None:
        self.takings.append((work_id, slot))

    def ended(self, work_id: str, outcome: Outcome, *, log: bytes | None) -> None:
        self.endings.append((work_id, outcome, log))

    def scoring(self, work_id: str) -> None:
        """Nothing is scored here."""

    def reviewing(self, work_id: str, *, agent: str) -> None:
        """Nothing is reviewed here."""

    def landed(self, events: Sequence[Event]) -> None:
        """Nothing is merged here."""

    def retired(self, slot: int, *, reason: str) -> None:
        self.retired_slots.append(slot)

    def ends_of(self, work_id: str) -> list[Outcome]:
        """List the ends that were told of an attempt: one, if all is well."""
        return [outcome for name, outcome, _ in self.endings if name == work_id]

    def turn_until(self, condition: Callable[[], object]) -> None:
        """Let the loop turn until something is so."""
        deadline = time.monotonic() + WITHIN_S
        while not condition():
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                raise AssertionError(f"it did not come to that within {WITHIN_S} s")
            self.loop.turn(min(left_s, 0.05))

    def turn_for(self, seconds: float) -> None:
        """Let the loop turn for a while, so that what must not happen has the time to happen."""
        until = time.monotonic() + seconds
        while (left_s := until - time.monotonic()) > 0:
            self.loop.turn(left_s)

    def begin(self, work: Work) -> None:
        """Start an attempt and wait until it runs."""
        self.executor.start(work)
        self.turn_until(lambda: work.id in self.begun_pids)

    def end_of(self, work_id: str) -> Outcome:
        """Wait for an attempt's end."""
        self.turn_until(lambda: self.ends_of(work_id))
        return self.ends_of(work_id)[0]

    def recover(self, *works: Work) -> list[Recovered]:
        """Take attempts over."""
        found = self.executor.recover(works)
        assert set(found) == {work.id for work in works}
        return [found[work.id] for work in works]


class ExecutorRules:
    """The ground that the suite stands on: a fixture `world`, which an executor's test class overrides."""

    @pytest.fixture
    def world(self) -> ExecutorWorld:
        raise NotImplementedError("a class that inherits from ExecutorConformance has a fixture `world`")

    @pytest.fixture
    def posts(self, world: ExecutorWorld) -> "Iterator[Callable[[int], Post]]":
        """Drivers by fencing number, each opened when first asked for; all leave in good order at the end."""
        with _posts(world) as get:
            yield get

    @pytest.fixture
    def post(self, posts: "Callable[[int], Post]") -> Post:
        """The first driver."""
        return posts(1)


@contextmanager
def _posts(world: ExecutorWorld) -> "Iterator[Callable[[int], Post]]":
    opened: dict[int, Post] = {}

    def get(fence: int) -> Post:
        if fence not in opened:
            opened[fence] = Post(world, fence)
        return opened[fence]

    try:
        yield get
    finally:
        for fence in sorted(opened):
            opened[fence].executor.close()
            opened[fence].loop.close()
