"""Tells somebody of a drive: a web address of every event as it happens, or a shell command of how it ended.

Bounded, and never a reason for a run to fail. Knows whom the run's settings name. Must not print: what went wrong is
returned, in words.
"""

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from budwood._core.events import Recorded
from budwood._core.state import RunState
from budwood.engine.driver import Listener
from budwood.engine.verdict import Exit, Verdict
from budwood.errors import UsageError
from budwood.project.place import Project
from budwood.settings.addresses import is_address, shown
from budwood.stores import Store

if TYPE_CHECKING:
    from budwood.project.webhook import Webhook

DELIVER_WITHIN_S = 10.0
"""For so long the end of a drive waits for a receiver."""
LEAVE_WITHIN_S = 2.0
"""And for so long when somebody wants to go."""
_SAY_AFTER_S = 1.0

Say = Callable[[str], None]


def both(first: Listener, second: Listener | None) -> Listener:
    """Let two hear, one after the other."""
    if second is None:
        return first

    def listener(events: Sequence[Recorded], state: RunState) -> None:
        first(events, state)
        second(events, state)

    return listener


class Telling:
    """A listener for the driver. Whom it tells, the run's own settings say, unless somebody else is `given`."""

    def __init__(self, project: Project, *, run: str, open_store: Callable[[], Store], given: str | None) -> None:
        self._project = project
        self._run = run
        self._open_store = open_store
        self._given = given
        self._whom: str | None = None
        self._webhook: Webhook | None = None
        self._problem: str | None = None
        self.say: Say = lambda text: None
        """Takes what is worth a remark at the beginning; called from the driver's thread."""

    def __call__(self, events: Sequence[Recorded], state: RunState) -> None:
        """Pass events on; from the driver's thread."""
        if self._whom is None:
            self._whom = self._given or state.settings.notify or ""
            if is_address(self._whom):
                self._open(self._whom)
        if self._webhook is not None:
            self._webhook(events, state)

    def _open(self, address: str) -> None:
        from budwood.project.webhook import SECRET, webhook_of  # who tells nobody starts sooner

        try:
            self._webhook = webhook_of(self._project, address, run=self._run, open_store=self._open_store)
        except UsageError as error:  # a run of long ago may have an address that is refused today
            self._problem = error.message
            return
        if not self._project.environ.get(SECRET):
            self.say(f"note: what is sent to {shown(address)} is not signed: {SECRET} is not set")

    def finish(self, verdict: Verdict, *, waits: Say = lambda text: None) -> str | None:
        """Run the command, or wait a little until all is told; return what went wrong, in words."""
        if self._whom and not is_address(self._whom):
            from budwood.project.notify import notify

            return notify(self._whom, verdict, environ=self._project.environ)
        interrupted = verdict.exit_code == Exit.INTERRUPTED
        return self.leave(within_s=LEAVE_WITHIN_S if interrupted else DELIVER_WITHIN_S, waits=waits)

    def leave(self, *, within_s: float, waits: Say = lambda text: None) -> str | None:
        """Wait a little until all is told; no command is run. `waits` hears of a wait that lasts; Ctrl-C ends it."""
        if self._webhook is None:
            return self._problem
        text = f"waiting, for at most {within_s:.0f} s, until the last events are delivered"
        remark = threading.Timer(_SAY_AFTER_S, waits, (text,))
        remark.daemon = True
        remark.start()
        try:
            delivery = self._webhook.close(within_s=within_s)
        except KeyboardInterrupt:
            delivery = self._webhook.close(within_s=0.0)
        finally:
            remark.cancel()
        if delivery.missing:
            were = "event was" if delivery.missing == 1 else "events were"
            return f"{delivery.missing} {were} not delivered to {delivery.address}: {delivery.problem}"
        return f"{delivery.address} has all events, but {delivery.problem}" if delivery.problem else None
