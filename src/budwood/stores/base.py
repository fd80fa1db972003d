"""What every store promises. `budwood.testing.stores` proves it of an implementation.

Rules
- Only the holder of a run's lease appends, and only right behind the event that it saw last. A commit is atomic and
  durable when `append` returns: events, rows, logs and answers are there together or not at all.
- A lease ends when it is released, when the store can prove that its holder is dead, or when it ran out by the store's
  own clock. Each lease of a run has a higher fencing number than every one before; an append under an older number
  writes nothing.
- Requests need no lease. One idempotency key makes one request, however often it is sent.
- What was written is never changed: events are numbered from 1 without gaps, per run.
- Names are unique in a store; an id is for ever. Name and source are the claim's: a commit's rows do not change them.
- Whole numbers fit into 64 bits, with their sign. A run that the store does not have raises NoSuchId.

A store object is used by one thread at a time. Knows `_core` only; must not print, read the environment, or decide
anything about a run.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Literal, Self

from msgspec import Struct

from budwood._core.events import Recorded
from budwood._core.model import TaskId
from budwood._core.rows import AttemptRow, DependencyRow, Rows, RunRow, TaskRow
from budwood.errors import LeaseLost, StoreConflict, StoreError, UsageError

LOOK_EVERY_S = 0.1
"""How often one who waits for events looks for them, where nobody wakes him."""


class Claim(Struct, frozen=True):
    """The run that a source belongs to."""

    run: str
    name: str
    created: bool


class Lease(Struct, frozen=True):
    """The right to drive a run."""

    run: str
    fence: int
    holder: str


class Request(Struct, frozen=True, kw_only=True):
    """What somebody asks of a run; numbered per run from 1. `answer` says why, once it is taken or refused."""

    id: int
    run: str
    kind: str
    key: str
    body: str = ""
    state: Literal["pending", "taken", "refused"] = "pending"
    answer: str = ""


class Asker(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The attempt that asks for something; where none is named, a person does."""

    task: TaskId
    attempt: int


class RequestBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a request says beside its kind, where that is more than a list of tasks."""

    tasks: list[TaskId]
    text: str = ""
    by: Asker | None = None


class Answer(Struct, frozen=True, kw_only=True):
    """The driver's word on a request."""

    request: int
    state: Literal["taken", "refused"]
    text: str = ""


class LogEntry(Struct, frozen=True, kw_only=True):
    """What an attempt printed, bytes as they came. An empty one takes no room and reads back as None."""

    task: int
    attempt: int
    data: bytes


class Commit(Struct, frozen=True, kw_only=True):
    """All that one turn of the driver's loop writes, in one transaction. `after`: the last event's number before it."""

    after: int
    events: tuple[Recorded, ...]
    rows: Rows
    logs: tuple[LogEntry, ...] = ()
    answers: tuple[Answer, ...] = ()


class Bell(ABC):
    """Wakes a driver when somebody rang; fits into a selector."""

    @abstractmethod
    def fileno(self) -> int:
        """Return the descriptor that is readable when somebody rang."""

    @abstractmethod
    def drain(self) -> None:
        """Take all rings so far as one."""

    @abstractmethod
    def close(self) -> None:
        """Stop listening."""


class Store(ABC):
    """Where events live."""

    say: Callable[[str], None] = staticmethod(lambda text: None)
    """Told what a person should know while a call takes long. Set by who opened the store, and called in its thread."""

    @property
    @abstractmethod
    def where(self) -> str:
        """Say where this store is, for people."""

    @property
    def address(self) -> str:
        """Say how another process opens this store; it may hold a password. Empty where none can."""
        return ""

    @abstractmethod
    def reopen(self) -> "Store":
        """Open another object on the same store, for another thread or process; this one may be closed already."""

    @abstractmethod
    def claim(self, run: str, *, name: str, source: str, fresh: bool) -> Claim:
        """Return the newest run of this source, or, without one or if `fresh`, make `run` with a free name.

        Atomic: of two that claim one new source at once, one creates and both get the same run. An empty source always
        creates. What is made is listed at once, with no events. An id that the store has already raises StoreConflict.
        """

    @abstractmethod
    def acquire(self, run: str, holder: str, *, above: int = 0, back: bool = False) -> Lease:
        """Take the lease; LeaseHeld while another's is live. A run that was moved away raises StoreError.

        The fencing number is also higher than `above`: supervisors remember the one of the store that a run comes from.
        With `back`, a run that was moved away can be leased and written, which is how it is brought back.
        """

    @abstractmethod
    def renew(self, lease: Lease) -> None:
        """Show that the holder lives; LeaseLost if another took over. To be called every `renew_every_s`."""

    @property
    @abstractmethod
    def renew_every_s(self) -> float | None:
        """How often a lease must be renewed; None where the kernel itself tells when a holder died."""

    @abstractmethod
    def release(self, lease: Lease) -> None:
        """Give the lease back; harmless if it was lost."""

    @abstractmethod
    def retire(self, lease: Lease, moved_to: str) -> None:
        """Fence a run off: it was moved to another store and can be read here, not driven. The lease ends with it."""

    @abstractmethod
    def readmit(self, lease: Lease) -> None:
        """Let a run that was moved away, and is back, be driven here again."""

    @abstractmethod
    def moved_to(self, run: str) -> str | None:
        """Say which store a run was moved to, so that it cannot be driven here; None if it can."""

    @abstractmethod
    def holder(self, run: str) -> str | None:
        """Name who drives the run now, or None."""

    @abstractmethod
    def append(self, lease: Lease, commit: Commit) -> None:
        """Write a commit; if it may not be, LeaseLost or StoreConflict, if it cannot be, StoreUnwritable, and no trace.

        Rows and logs replace those of the same number. An answer to a request that is not pending is a StoreConflict.
        """

    @abstractmethod
    def read(self, run: str, after: int = 0) -> Iterator[Recorded]:
        """Give the events behind number `after`, in order; those that are written meanwhile may be among them."""

    @abstractmethod
    def runs(self) -> list[RunRow]:
        """List all runs, oldest first."""

    @abstractmethod
    def tasks(self, run: str) -> list[TaskRow]:
        """List a run's tasks in task order."""

    @abstractmethod
    def attempts(self, run: str, task: int | None = None) -> list[AttemptRow]:
        """List attempts, of all tasks or of one, by task and number."""

    @abstractmethod
    def dependencies(self, run: str) -> list[DependencyRow]:
        """List a run's dependencies, by task and needed task."""

    @abstractmethod
    def log(self, run: str, task: int, attempt: int) -> bytes | None:
        """Return what an ended attempt printed; None if that is nothing or the store has no log of it."""

    @abstractmethod
    def ask(self, run: str, kind: str, *, body: str = "", key: str) -> Request:
        """Put a request on the table and ring; the same key again returns the same request."""

    @abstractmethod
    def request(self, run: str, number: int) -> Request:
        """Read one request back; NoSuchId if there is none of that number."""

    @abstractmethod
    def requests(self, run: str) -> list[Request]:
        """List all that was ever asked of a run, oldest first."""

    @abstractmethod
    def pending(self, run: str) -> list[Request]:
        """List what has been asked and not answered, oldest first."""

    @abstractmethod
    def listen(self, run: str) -> Bell:
        """Hear when something is asked of the run. For its driver alone: two would take each other's rings."""

    @abstractmethod
    def ring(self, run: str) -> None:
        """Wake the run's driver, if there is one."""

    def wait(self, run: str, *, after: int, timeout_s: float) -> bool:
        """Wait until the run has an event behind number `after`, at most so long; say whether it has.

        For those who follow a run, of whom there may be any number. A backend that cannot wake them has them look.
        """
        until_s = time.monotonic() + timeout_s
        while next(self.read(run, after), None) is None:
            left_s = until_s - time.monotonic()
            if left_s <= 0:
                return False
            time.sleep(min(left_s, LOOK_EVERY_S))
        return True

    @abstractmethod
    def check(self) -> list[str]:
        """Examine the store itself and list what is wrong; refolding the events is the caller's part."""

    @abstractmethod
    def close(self) -> None:
        """Let go of files and connections; leases are released."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def check_run_id(run: str) -> None:
    """Refuse an id that would not be safe as a file's name; ids also come from files that people hand in."""
    if not run or len(run) > 64 or not all(char.isascii() and (char.isalnum() or char in "-_") for char in run):
        raise UsageError(f"{run!r} cannot be a run's id", hint="ids have at most 64 letters, digits and dashes")


def check_place(run: str, commit: Commit, *, last: int) -> None:
    """Refuse a commit that does not come right behind the last event, or has gaps."""
    if commit.after != last:
        raise elsewhere(run, commit, last=last)
    numbers = [recorded.number for recorded in commit.events]
    if numbers != list(range(last + 1, last + 1 + len(numbers))):
        raise StoreConflict(
            f"run {run} is at event {last} and cannot go on with events {numbers[:5]}; nothing was written"
        )


def elsewhere(run: str, commit: Commit, *, last: int) -> StoreConflict:
    """Refuse a commit of one who has not seen the last event."""
    return StoreConflict(f"run {run} is at event {last}, not at {commit.after}; nothing was written")


def not_waiting(run: str, request: int) -> StoreConflict:
    """Refuse an answer to a request that has one, or that is none."""
    return StoreConflict(f"request {request} of run {run} does not wait for an answer; nothing was written")


def lost(lease: Lease) -> LeaseLost:
    """Tell one who was overtaken."""
    return LeaseLost(f"run {lease.run} is no longer driven by {lease.holder}; nothing was written")


def moved_away(run: str, moved_to: str) -> StoreError:
    """Refuse to drive a run that lives in another store."""
    return StoreError(f"run {run} was moved to {moved_to}", hint=f"use --store {moved_to}")
