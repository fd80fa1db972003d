"""An executor without processes, for tests of whatever stands above executors.

What a machine remembers, though drivers come and go, is one object (`FakeMachine`); each driver gets an executor of its
own on it, as each gets a process of its own in life. Knows the contract of executors; must not know any real one.
"""

import os
import traceback
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from threading import RLock

import msgspec
from msgspec import UNSET, Raw, Struct

from budwood._core.masking import mask_bytes, mask_text
from budwood._core.model import AttemptPhase, Outcome, StepEnd, Usage
from budwood.errors import ExecutorError, LeaseLost
from budwood.executors.base import Executor, Loop, Recovered, Sink, Work

_EPOCH_MS = 1_700_000_000_000


class Ending(Struct, frozen=True):
    """How an attempt ends and what it printed; a log of None is one that is too large to be carried about.

    Without words of its own a step's transcript is the log. An outcome without steps is taken for one of all of them
    that succeeded, or of the first that did not.
    """

    outcome: Outcome
    log: bytes | None = b""
    transcripts: Mapping[str, bytes] = {}


def succeeded(*, log: bytes | None = b"") -> Ending:
    """End well."""
    return Ending(Outcome(phase=AttemptPhase.SUCCEEDED, exit_code=0), log)


def failed(exit_code: int = 1, *, error_type: str = "exit", message: str = "") -> Ending:
    """End badly."""
    text = message or f"exit code {exit_code}"
    return Ending(Outcome(phase=AttemptPhase.FAILED, exit_code=exit_code, error_type=error_type, message=text))


def returned(value: object = None, *, log: bytes | None = b"") -> Ending:
    """End a call with a result."""
    return Ending(Outcome(phase=AttemptPhase.SUCCEEDED, result=Raw(msgspec.json.encode(value))), log)


def raised(error: BaseException) -> Ending:
    """End a call with what its function raised."""
    trace = "".join(traceback.format_exception(error))
    text = f"{type(error).__name__}: {error}"
    outcome = Outcome(phase=AttemptPhase.FAILED, error_type="exception", message=text, traceback=trace)
    return Ending(outcome, trace.encode())


Script = Callable[[Work], Ending | None]
"""Says of each attempt how it ends, at once; None: when the test says so."""
Functions = Mapping[str, Callable[..., object]]
"""What stands for the functions of calls, by their names; it is called here, at once."""


@dataclass(slots=True)
class _Attempt:
    work: Work
    pid: int
    at_ms: int
    ending: Ending | None = None


class FakeMachine:
    """Attempts that outlive drivers. Its methods may be called from any thread."""

    def __init__(
        self,
        script: Script = lambda work: succeeded(),
        *,
        functions: Functions | None = None,
        obeys_cancel: bool = True,
    ) -> None:
        self.script = script
        self.functions = functions or {}
        self.obeys_cancel = obeys_cancel
        """Whether a cancelled attempt ends at once; otherwise it goes on until the test ends it."""
        self.fence = 0
        self.ran: Counter[str] = Counter()
        """How often each attempt really ran."""
        self.works: list[Work] = []
        self.transcripts: dict[tuple[str, str], bytes] = {}
        """What steps printed into their transcripts, by attempt and name."""
        self.cancelled: list[str] = []
        self.forgotten: list[str] = []
        self._attempts: dict[str, _Attempt] = {}
        self._costs: dict[str, Usage] = {}
        self._ticks = count(1)
        self._lock = RLock()
        self._commander: FakeExecutor | None = None

    def executor(self) -> "FakeExecutor":
        """Make the executor of one more driver."""
        return FakeExecutor(self)

    @property
    def running(self) -> list[str]:
        """Name the attempts that have begun and not ended, oldest first."""
        return [name for name, attempt in self._attempts.items() if attempt.ending is None]

    def end(self, work_id: str, ending: Ending | None = None) -> None:
        """Let a running attempt end."""
        with self._lock:
            attempt = self._attempts[work_id]
            if attempt.ending is not None:
                raise AssertionError(f"{work_id} has ended")
            attempt.ending = self._finish(attempt.work, ending or succeeded())
            self._tell(lambda executor: executor.report_end(work_id))

    def lose(self, work_id: str) -> None:
        """Let what ran an attempt die before it left a result."""
        text = "its supervisor was killed before it left a result"
        self.end(work_id, Ending(Outcome(phase=AttemptPhase.ABANDONED, error_type="abandoned", message=text)))

    def say_cost(self, call: str, usage: Usage) -> None:
        """Let an open call say what it cost so far; that is kept where its driver dies."""
        self._costs[call] = usage

    def retire(self, slot: int) -> None:
        """Let a slot be full of processes that cannot be killed."""
        self._tell(lambda executor: executor.report_retired(slot))

    def _tell(self, call: "Callable[[FakeExecutor], None]") -> None:
        with self._lock:
            if self._commander is not None:
                self._commander.soon(call)

    # What follows is for executors.

    def command(self, executor: "FakeExecutor", fence: int) -> None:
        """Put an executor in command, unless a newer one was."""
        with self._lock:
            self.check(fence)
            self.fence, self._commander = fence, executor
            self.drop_calls()

    def leave(self, executor: "FakeExecutor") -> None:
        """Let nobody command, if this one did."""
        with self._lock:
            if self._commander is executor:
                self._commander = None
                self.drop_calls()

    def check(self, fence: int) -> None:
        """Refuse a driver that is too old."""
        if fence < self.fence:
            raise LeaseLost(f"a newer driver (fence {self.fence}) has taken the machine over")

    def begin(self, work: Work) -> bool:
        """Run an attempt that never ran; say whether that is so."""
        with self._lock:
            if work.id in self._attempts:
                return False
            taken = [name for name in self.running if self._attempts[name].work.slot == work.slot]
            if taken:
                raise ExecutorError(f"slot {work.slot} was given {work.id} while {taken[0]} ran in it")
            tick = next(self._ticks)
            self._attempts[work.id] = _Attempt(work, pid=100_000 + tick, at_ms=_EPOCH_MS + tick)
            self.works.append(work)
            ending = _unreadable(work)
            if ending is None:
                self.ran[work.id] += 1
                ending = self._play(work)
            self._attempts[work.id].ending = None if ending is None else self._finish(work, ending)
            return True

    def _play(self, work: Work) -> Ending | None:
        if work.call is None or work.call.function not in self.functions:
            return self.script(work)
        try:
            return returned(self.functions[work.call.function](*work.call.args, **work.call.kwargs))
        except Exception as error:
            return raised(error)

    def _finish(self, work: Work, ending: Ending) -> Ending:
        """Add what follows from the work itself: how its steps ended, what they wrote, what must not be shown."""
        outcome = ending.outcome
        outcome = msgspec.structs.replace(
            outcome,
            steps=outcome.steps or _step_ends(work, outcome),
            message=mask_text(outcome.message, work.mask),
            traceback=UNSET if outcome.traceback is UNSET else mask_text(outcome.traceback, work.mask),
        )
        for step, _ in zip(work.steps, outcome.steps, strict=False):
            if step.transcript is not None and outcome.error_type != "stdin":
                words = ending.transcripts.get(step.transcript, ending.log or b"")
                self.transcripts[work.id, step.transcript] = mask_bytes(words, work.mask)
        log = None if ending.log is None else mask_bytes(ending.log, work.mask)
        return Ending(outcome, log, ending.transcripts)

    def drop_calls(self) -> None:
        """Let the workers go with their driver: nobody will hear of its calls, but of what they cost."""
        text = "its driver ended before it did"
        with self._lock:
            for name in [name for name, attempt in self._attempts.items() if attempt.work.call is not None]:
                usage = self._costs.get(name)
                if usage is None:
                    del self._attempts[name]
                else:
                    outcome = Outcome(phase=AttemptPhase.ABANDONED, error_type="abandoned", message=text, usage=usage)
                    self._attempts[name].ending = Ending(outcome)

    def find(self, work_id: str) -> _Attempt | None:
        """Return what is known of an attempt."""
        return self._attempts.get(work_id)


def _unreadable(work: Work) -> Ending | None:
    """End an attempt whose first step has nothing to read; what lies in its directory is not looked for."""
    path = work.steps[0].stdin if work.steps else None
    if path is None or not os.path.isabs(path) or os.path.isfile(path):
        return None
    message = f"{path}: not a file that can be read"
    return Ending(Outcome(phase=AttemptPhase.FAILED, error_type="stdin", message=message))


def _step_ends(work: Work, outcome: Outcome) -> tuple[StepEnd, ...]:
    if outcome.phase is AttemptPhase.ABANDONED:
        return ()
    if outcome.phase is AttemptPhase.SUCCEEDED:
        return tuple(StepEnd(name=step.name, exit_code=0) for step in work.steps)
    late = outcome.phase is AttemptPhase.TIMED_OUT
    end = [StepEnd(name=s.name, exit_code=outcome.exit_code, signal=outcome.signal, timed_out=late) for s in work.steps]
    return tuple(end[:1])


class FakeExecutor(Executor):
    """Runs nothing, and keeps every promise of an executor."""

    def __init__(self, machine: FakeMachine) -> None:
        self._machine = machine
        self._told: set[str] = set()
        self._news: deque[Callable[[FakeExecutor], None]] = deque()
        self._bell: tuple[int, int] | None = None

    def open(self, fence: int, *, loop: Loop, sink: Sink) -> None:
        self._machine.command(self, fence)
        self._fence, self._loop, self._sink = fence, loop, sink
        self._bell = os.pipe()
        for fd in self._bell:
            os.set_blocking(fd, False)
        loop.watch(self._bell[0], self._listen)

    def recover(self, open_attempts: Iterable[Work]) -> dict[str, Recovered]:
        found: dict[str, Recovered] = {}
        for work in open_attempts:
            attempt = self._machine.find(work.id)
            if attempt is None:
                found[work.id] = Recovered.UNSENT
            elif attempt.ending is None:
                found[work.id] = Recovered.ADOPTED
                self._sink.begun(work.id, pid=attempt.pid, at_ms=attempt.at_ms)
                self._limit_time(work)
            else:
                found[work.id] = Recovered.ENDED
                self.report_end(work.id)
        return found

    def start(self, work: Work) -> None:
        self._machine.check(self._fence)
        if not self._machine.begin(work):
            return
        attempt = self._machine.find(work.id)
        assert attempt is not None
        if work.call is None or attempt.ending is None:  # the end of a short call says all
            self.soon(lambda executor: executor.report_begin(work.id))
        if attempt.ending is not None:
            self.soon(lambda executor: executor.report_end(work.id))
        else:
            self._limit_time(work)

    def cancel(self, work_id: str) -> None:
        self._machine.check(self._fence)
        attempt = self._machine.find(work_id)
        if attempt is None or attempt.ending is not None:
            return
        self._machine.cancelled.append(work_id)
        if self._machine.obeys_cancel:
            cancelled = Outcome(phase=AttemptPhase.CANCELLED, error_type="cancelled", message="cancelled")
            self._machine.end(work_id, Ending(cancelled))

    def forget(self, work_id: str) -> None:
        self._machine.forgotten.append(work_id)

    def close(self) -> None:
        self._machine.leave(self)
        if self._bell is not None:
            self._loop.forget(self._bell[0])
            for fd in self._bell:
                os.close(fd)
            self._bell = None

    def soon(self, call: "Callable[[FakeExecutor], None]") -> None:
        """Have something told to the sink in the loop's next turn."""
        self._news.append(call)
        if self._bell is not None:
            with suppress(BlockingIOError):  # the pipe is full of rings already
                os.write(self._bell[1], b"!")

    def _listen(self) -> None:
        assert self._bell is not None
        with suppress(BlockingIOError):
            os.read(self._bell[0], 65536)
        while self._news:
            self._news.popleft()(self)

    def report_begin(self, work_id: str) -> None:
        """Tell the sink that an attempt began."""
        attempt = self._machine.find(work_id)
        assert attempt is not None
        self._sink.begun(work_id, pid=attempt.pid, at_ms=attempt.at_ms)

    def report_end(self, work_id: str) -> None:
        """Tell the sink how an attempt ended, once."""
        attempt = self._machine.find(work_id)
        assert attempt is not None
        assert attempt.ending is not None
        if work_id not in self._told:
            self._told.add(work_id)
            self._sink.ended(work_id, attempt.ending.outcome, log=attempt.ending.log)

    def report_retired(self, slot: int) -> None:
        """Tell the sink that a slot is out of use."""
        self._sink.retired(slot, reason="processes that cannot be killed: 4242 (stuck)")

    def _limit_time(self, work: Work) -> None:
        if work.timeout_s is not None:
            self._loop.later(work.timeout_s, lambda: self._time_over(work.id))

    def _time_over(self, work_id: str) -> None:
        attempt = self._machine.find(work_id)
        if attempt is not None and attempt.ending is None:
            text = "stopped at its time limit"
            self._machine.end(
                work_id, Ending(Outcome(phase=AttemptPhase.TIMED_OUT, error_type="timeout", message=text))
            )
