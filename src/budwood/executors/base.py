"""What every executor promises.

Rules
- An attempt that was started is never started again: whoever starts it twice gets one run of it.
- `ended` is reported once, when nothing of the attempt is left, and its result survives the executor's and the
  driver's death until `forget`.
- An executor opened with a higher fencing number takes all attempts over; one with a lower number can start nothing.
- What `mask` names stands whole in no log and no transcript; of a call, in nothing that comes with its end.
- Calls return at once; what happens is told to the sink, from the loop that the executor was opened with.

Knows `_core` only; must not know stores, plans or what a run is for.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from typing import Protocol

from msgspec import Struct

from budwood._core.commands import Chore
from budwood._core.events import Event
from budwood._core.model import Outcome, RunSettings
from budwood.errors import InternalError

SHELL = ("/bin/sh", "-c")
"""What runs a command that is text."""


class Step(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One command of an attempt."""

    name: str
    argv: tuple[str, ...]
    timeout_s: float | None = None
    stdin: str | None = None
    """A file to read, absolute or from the attempt's directory; one that is no readable file is the error `stdin`."""
    transcript: str | None = None
    """The name of a file in the attempt's directory that gets what this step prints; there until `forget`."""


class Call(Struct, frozen=True, kw_only=True, gc=False):
    """A Python function to call, in a worker that lives from call to call; such an attempt has no steps."""

    function: str
    args: tuple[object, ...] = ()
    kwargs: dict[str, object] = {}
    python: str = ""
    worker_memory_bytes: int = 1024**3


class Work(Struct, frozen=True, kw_only=True, gc=False):
    """An attempt as an executor sees it. `id` is unique in its run and safe as a file name."""

    id: str
    slot: int
    steps: tuple[Step, ...] = ()
    call: Call | None = None
    cwd: str = ""
    env: dict[str, str] = {}
    env_pass: tuple[str, ...] = ()
    timeout_s: float | None = None
    grace_s: float = 5.0
    memory_bytes: int | None = None
    output_bytes: int = 4 * 1024 * 1024
    """How much is kept of what it prints: in its log, and in each transcript."""
    mask: tuple[str, ...] = ()
    """Secrets that stand in no log or transcript; what has less than 6 bytes is none."""
    contain: str = "tree"
    begun: bool = False
    """Whether the store knows that it began; then it is never sent again, whatever is missing."""


class Recovered(StrEnum):
    """What became of an open attempt while no driver was there."""

    ADOPTED = "adopted"
    """It runs; its end will be reported."""
    UNSENT = "unsent"
    """It never began: send it again, under the same number."""
    ENDED = "ended"
    """Its end was reported to the sink."""


class Loop(Protocol):
    """The part of the driver's loop that an executor needs."""

    def watch(self, fd: int, on_readable: Callable[[], None], *, on_writable: Callable[[], None] | None = None) -> None:
        """Call back when the descriptor is readable (or writable); watching again replaces the call-backs."""

    def forget(self, fd: int) -> None:
        """Stop watching; harmless if it is not watched."""

    def later(self, delay_s: float, call: Callable[[], None]) -> None:
        """Call once, after a while."""


class Sink(Protocol):
    """Who is told what happens to attempts."""

    def begun(self, work_id: str, *, pid: int, at_ms: int) -> None:
        """Hear that its first step runs."""

    def taken(self, work_id: str, *, slot: int) -> None:
        """Hear that a call that was sent ahead has begun, in a slot whose call before it has just ended."""

    def ended(self, work_id: str, outcome: Outcome, *, log: bytes | None) -> None:
        """Hear that it is over; `log` is what it printed, None where it is too large to be carried about."""

    def scoring(self, work_id: str) -> None:
        """Hear that what it made is kept, and is being scored."""

    def reviewing(self, work_id: str, *, agent: str) -> None:
        """Hear that what it made is kept, and that an agent is asked to review it."""

    def landed(self, events: Sequence[Event]) -> None:
        """Hear what came of something that the merge queue wanted."""

    def retired(self, slot: int, *, reason: str) -> None:
        """Hear that a slot takes no more work."""


def _unheard(text: str) -> None:
    """Say nothing: nobody listens yet."""


class Executor(ABC):
    """Where attempts run."""

    say: Callable[[str], None] = staticmethod(_unheard)
    """Hears what went wrong beside attempts, from any thread; whoever drives may replace it."""

    @abstractmethod
    def open(self, fence: int, *, loop: Loop, sink: Sink) -> None:
        """Take over all slots of the run under this fencing number."""

    def attend(self, name: str, settings: RunSettings) -> None:  # noqa: B027 - most have nothing to do here
        """Hear what the run is called and allowed, once it is known and before the first attempt.

        Heard again where a run goes on with other settings, before anything is started by them.
        """

    @abstractmethod
    def recover(self, open_attempts: Iterable[Work]) -> dict[str, Recovered]:
        """Find out what became of attempts that a driver before this one had started; wait until that is certain."""

    @abstractmethod
    def start(self, work: Work) -> None:
        """Run an attempt in its slot, which must be free."""

    def room_ahead(self) -> int:
        """Say how many calls may be sent ahead just now, before a slot is free for them."""
        return 0

    def send_ahead(self, work: Work) -> bool:
        """Let a call wait for the next slot that is free, behind those sent before; False if it cannot.

        Its `slot` says nothing. It begins only after a call that succeeded, and the sink is told when it has.
        """
        return False

    def take_back_first(self) -> str | None:
        """Take back the first of those that were sent ahead and have not begun; None if all have, or none was sent."""
        return None

    def take_back(self) -> list[str]:
        """Take back what was sent ahead and has not begun: it never will.

        What is not among these has begun, and the sink is told so; or it did not, and it is among those of a later
        call.
        """
        return []

    @abstractmethod
    def cancel(self, work_id: str) -> None:
        """End an attempt; its end is reported like any other."""

    @abstractmethod
    def forget(self, work_id: str) -> None:
        """Drop what is kept of an ended attempt: its result is in the store."""

    def accept(self, lane: str, commit: str) -> None:  # noqa: B027 - most have nothing to do here
        """Show where a line of history has come to, if there is somebody to show it to; may be repeated."""

    def land(self, chore: Chore) -> None:
        """Do something for the merge queue, and tell what came of it; may be repeated."""
        raise InternalError(f"{type(self).__name__} has no lines of history to merge")

    @property
    def is_busy(self) -> bool:
        """Say whether something that was forgotten or accepted is yet to be done; the loop is woken when it is."""
        return False

    @abstractmethod
    def close(self) -> None:
        """Leave: running attempts go on without a driver and can be recovered."""
