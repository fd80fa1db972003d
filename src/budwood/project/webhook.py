"""Sends every event of a run to a web address, in order, while the run is driven and without ever holding it up.

A listener for the driver: it notes a number and nothing more. A thread of its own reads the events back from the store,
through a store object of its own, so that nothing piles up however slow the receiver is, and posts them, one request at
a time. At least once: how far it came is noted behind every request, and whoever drives the run next goes on from
there. Knows stores and listeners. Must not print: `close` says what went wrong.
"""

import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from budwood._core.events import Recorded
from budwood._core.state import RunState
from budwood.errors import BudwoodError, UsageError
from budwood.project.delivered import Delivered
from budwood.project.listening import wait_listening
from budwood.project.parcels import MOST_EVENTS, Parcel, parcels
from budwood.settings.addresses import can_be_posted_to, shown
from budwood.stores import Store

if TYPE_CHECKING:
    from budwood.project.place import Project
    from budwood.project.post import Post

SECRET = "BUDWOOD_NOTIFY_SECRET"
"""The variable with the secret that signs; it is nowhere else, so that it is in no event, no file and no listing."""
_NEVER = 1 << 63
_END_WITHIN_S = 1.0


class Pace(Struct, frozen=True, kw_only=True):
    """How long things take."""

    gather_s: float = 1.0
    """Events that come within this time are sent together."""
    first_retry_s: float = 0.5
    longest_retry_s: float = 60.0
    request_s: float = 10.0


class Delivery(Struct, frozen=True, kw_only=True):
    """How it went."""

    address: str
    missing: int
    """Events that the receiver has not confirmed."""
    problem: str
    """Why they are missing, or what else went wrong; empty if all is well."""


class _Later(Exception):
    """It did not work and may work later; `after_s` is what the receiver asks for."""

    def __init__(self, why: str, *, after_s: float | None = None) -> None:
        super().__init__(why)
        self.after_s = after_s


class _Refused(Exception):
    """It did not work, and trying again would not help."""


def webhook_of(project: "Project", address: str, *, run: str, open_store: Callable[[], Store]) -> "Webhook":
    """Make the webhook of a run, signing with the secret that the project's environment has."""
    return Webhook(
        address,
        run=run,
        open_store=open_store,
        delivered=Delivered(project.run_dir(run), address),
        secret=project.environ.get(SECRET, ""),
    )


class Webhook:
    """Tells one address of one drive of a run."""

    def __init__(
        self,
        address: str,
        *,
        run: str,
        open_store: Callable[[], Store],
        delivered: Delivered,
        secret: str = "",
        pace: Pace | None = None,
        chance: Callable[[], float] = random.random,
    ) -> None:
        if not can_be_posted_to(address):
            raise UsageError(
                f"nothing can be sent to {shown(address)}", hint="give http:// or https://, a host, and no password"
            )
        self._address = address
        self._run = run
        self._open_store = open_store
        self._delivered = delivered
        self._secret = secret
        self._pace = pace or Pace()
        self._chance = chance
        self._thread = threading.Thread(target=self._work, name="webhook", daemon=True)
        self._post: Post | None = None
        self._store: Store | None = None
        self._tries = 0
        # From here on shared by the driver's thread, this one's and the one that closes; guarded by `_news`.
        self._news = threading.Condition()
        self._first = self._seen = self._sent = 0
        self._wake_at = _NEVER
        self._phase = self._name = self._problem = ""
        self._leave_by_s: float | None = None

    # --- the driver's thread, and the one that closes ---

    def __call__(self, events: Sequence[Recorded], state: RunState) -> None:
        """Note that there are new events; quick, and raises nothing."""
        if not events:
            return
        with self._news:
            self._phase, self._name, self._seen = state.phase.value, state.name, events[-1].number
            if not self._first:
                self._first = events[0].number
                self._begin()
            # A thread that wakes up takes the interpreter from the driver's: only when it has something to do.
            if self._seen >= self._wake_at:
                self._wake_at = _NEVER
                self._news.notify_all()

    def close(self, *, within_s: float) -> Delivery:
        """Send what is left, for at most so long, and say how it went. Nothing is sent afterwards."""
        self._leave_by(time.monotonic() + within_s)
        try:
            if self._thread.is_alive():
                wait_listening(self._has_left, within_s)
        finally:
            with self._news:
                missing, problem = self._seen - self._sent, self._problem
            self._leave_by(0.0)
            if self._post is not None:
                self._post.abort()
        if self._thread.is_alive():
            self._thread.join(_END_WITHIN_S)
        problem = (problem or "no answer in time") if missing else self._delivered.problem
        return Delivery(address=shown(self._address), missing=missing, problem=problem)

    def _has_left(self, within_s: float) -> bool:
        self._thread.join(within_s)
        return not self._thread.is_alive()

    def _begin(self) -> None:
        try:
            self._thread.start()
        except RuntimeError as error:  # the machine gives us no more threads; the driver shall not suffer from it
            self._problem = str(error)

    def _leave_by(self, at_s: float) -> None:
        with self._news:
            self._leave_by_s = at_s
            self._news.notify_all()

    # --- the thread of its own ---

    def _work(self) -> None:
        from budwood.project.post import Post, printable  # takes its time to load, and here nobody waits for it

        try:
            self._post = Post(self._address, secret=self._secret)
            self._sent = self._delivered.read(before=self._first)
            while self._gather():
                try:
                    self._send_all(self._post)
                except _Later as later:
                    if not self._wait(later):
                        return
        except _Refused as refused:
            self._problem = str(refused)
        except Exception as error:  # a bug of ours must neither end the run nor look as if all had been delivered
            self._problem = printable(f"{type(error).__name__}: {error}")
        finally:
            if self._store is not None:
                self._store.close()

    def _gather(self) -> bool:
        """Wait until there is something to send, and a little longer for more of it; False when it is time to go."""
        with self._news:
            self._wake_at = self._sent + 1
            self._news.wait_for(lambda: self._seen > self._sent or self._leave_by_s is not None)
            self._wake_at = self._sent + MOST_EVENTS
            self._news.wait_for(
                lambda: self._leave_by_s is not None or self._seen - self._sent >= MOST_EVENTS, self._pace.gather_s
            )
            self._wake_at = _NEVER
            return self._seen > self._sent and self._left_s() > 0

    def _left_s(self) -> float:
        """Return for how long something may still be sent: for ever, while the run is driven."""
        return float("inf") if self._leave_by_s is None else self._leave_by_s - time.monotonic()

    def _send_all(self, post: "Post") -> None:
        """Send until the store has no more."""
        try:
            self._store = self._store or self._open_store()
            for parcel in parcels(self._unsent(self._store)):
                self._send(post, parcel)
                if self._left_s() <= 0:
                    return
        except BudwoodError as error:
            if self._store is not None:
                self._store.close()
            self._store = None  # a connection that was lost is made anew
            raise _Later(f"the store cannot be read: {error.message}") from error

    def _unsent(self, store: Store) -> Iterator[Recorded]:
        """Read on, but not ahead of what the driver told: the state that is sent along is no older than the events."""
        for recorded in store.read(self._run, self._sent):
            if recorded.number > self._seen:
                return
            yield recorded

    def _send(self, post: "Post", parcel: Parcel) -> None:
        with self._news:
            body = parcel.body(run=self._run, name=self._name, state=self._phase)
        answer = post.send(body, within_s=min(self._pace.request_s, max(0.001, self._left_s())))
        if answer.can_be_tried_again:
            raise _Later(answer.said, after_s=answer.retry_after_s)
        if not answer.is_accepted:
            raise _Refused(answer.said)
        self._tries = 0
        with self._news:
            self._sent, self._problem = parcel.last, ""
        self._delivered.write(parcel.last)

    def _wait(self, later: _Later) -> bool:
        """Let time pass before the next try; False if it would come too late.

        What the receiver asks for is honoured. Our own patience ends when somebody closes: then it is tried at once.
        """
        pace = self._pace
        backoff_s = min(pace.first_retry_s * 2 ** min(self._tries, 30), pace.longest_retry_s)
        wait_s = backoff_s * (0.5 + self._chance() / 2) if later.after_s is None else later.after_s
        due_s = time.monotonic() + wait_s
        self._tries += 1
        with self._news:
            self._problem = str(later)
            hurried = self._leave_by_s is not None
            while (left_s := due_s - time.monotonic()) > 0:
                if left_s > self._left_s():
                    return False
                self._news.wait(left_s)
                if later.after_s is None and not hurried and self._leave_by_s is not None:
                    self._tries = 0
                    break
            return self._left_s() > 0
