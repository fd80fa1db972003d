"""Drives a run in the foreground: the driver in a thread of its own, signals and the view in the main one.

Ctrl-C once: nothing new starts. Twice, or TERM or HUP: it leaves at once. Commands go on under their supervisors; calls
of functions end with it, and are made again by the next drive.
Whatever the driver raises comes out here unchanged. The store is the driver's until its thread has ended.
"""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Literal

from budwood._core.events import Recorded
from budwood._core.state import RunState
from budwood.cli.garbage import hold_off, settle
from budwood.cli.looking import note
from budwood.cli.signals import signals_to
from budwood.cli.tables import terminal_width
from budwood.cli.verdict import in_one_line, verdict_lines
from budwood.cli.view import Feed, Summary, View, choose_view
from budwood.engine.driver import Driver, Listener, Opening
from budwood.engine.verdict import Exit, Verdict
from budwood.errors import LeaseHeld
from budwood.executors.base import Executor
from budwood.project.listening import wait_listening
from budwood.project.place import Project, holder
from budwood.project.telling import LEAVE_WITHIN_S, Telling, both
from budwood.project.words import counted, some
from budwood.stores import Store
from budwood.strategies import Strategy

_EVERY_S = 0.125
"""News are fetched and drawn at most so often."""
_LEAVE_WITHIN_S = 10.0
_SHOWN_COSTS = 30
"""Rows of the table of costs at the end; `budwood cost` shows all."""
_SWITCH_S = 0.0005
"""The driver waits at most so long for the interpreter while the view draws."""

_Item = signal.Signals | Literal["news", "over"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """How somebody wants to see and hear of a drive."""

    quiet: bool = False
    jsonl: bool = False
    notify: str | None = None
    """Instead of what the run's own settings say."""


class Drive:
    """One driver at work."""

    def __init__(
        self,
        store: Store,
        executor: Executor,
        *,
        run: str,
        view: View,
        strategy: Strategy | None = None,
        listener: Listener | None = None,
    ) -> None:
        self._inbox: SimpleQueue[_Item] = SimpleQueue()  # may be filled by signal handlers
        self._feed = Feed(lambda: self._inbox.put("news"))
        self._remarks: SimpleQueue[str] = SimpleQueue()
        self._also = listener
        self.driver = Driver(store, executor, run=run, holder=holder(), listener=self._hear, strategy=strategy)
        self._view = view
        self._summary = Summary(lambda: time.time_ns() // 1_000_000)
        self._verdict: Verdict | None = None
        self._failure: BaseException | None = None
        self._leave_by_s: float | None = None
        self._under_way = False

    def go(self, opening: Opening) -> Verdict:
        """Drive until the run rests or somebody stops it; what the driver raises is raised here, LeaseHeld too."""
        thread = threading.Thread(target=self._drive, args=(opening,), name="driver", daemon=True)
        switch_s = sys.getswitchinterval()
        sys.setswitchinterval(_SWITCH_S)
        with signals_to(self._inbox.put):
            thread.start()
            try:
                self._watch()
                thread.join()
                self._show()
            finally:
                sys.setswitchinterval(switch_s)
                self._view.close()
        if self._failure is not None:
            raise self._failure
        assert self._verdict is not None
        return self._verdict

    def say(self, text: str) -> None:
        """Let the view tell something that is no event; from any thread."""
        self._remarks.put(text)
        self._inbox.put("news")

    def _drive(self, opening: Opening) -> None:
        hold_off()  # what it reads or writes first may be large, and stays
        try:
            self._verdict = self.driver.drive(opening)
        except BaseException as error:  # it is raised again in the main thread
            self._failure = error
        finally:
            settle()
            self._inbox.put("over")

    def _hear(self, events: Sequence[Recorded], state: RunState) -> None:
        if not self._under_way:
            self._under_way = True
            settle()
        self._feed(events, state)
        if self._also is not None:
            self._also(events, state)

    def _watch(self) -> None:
        """Wait for news, signals and the end; draw in between."""
        drawn_s, due_s = 0.0, None
        while True:
            item = self._next(due_s, drawn_s)
            if item == "over":
                return
            if isinstance(item, signal.Signals):
                self._signalled(item)
                due_s = 0.0
            elif item == "news" and due_s is None:
                due_s = drawn_s + _EVERY_S
            if item is None or (due_s is not None and due_s <= time.monotonic()):
                self._show()
                drawn_s, due_s = time.monotonic(), None
            if self._leave_by_s is not None and self._leave_by_s <= time.monotonic():
                _vanish(self._view)

    def _next(self, due_s: float | None, drawn_s: float) -> _Item | None:
        tick_s = self._view.tick_s
        ends = [due_s, None if tick_s is None else max(drawn_s, time.monotonic() - tick_s) + tick_s, self._leave_by_s]
        soonest_s = min((end for end in ends if end is not None), default=None)
        found: list[_Item] = []

        def take(slice_s: float) -> bool:
            with suppress(Empty):
                found.append(self._inbox.get(timeout=slice_s))
            return bool(found)

        wait_listening(take, None if soonest_s is None else soonest_s - time.monotonic())
        return found[0] if found else None

    def _show(self) -> None:
        while not self._remarks.empty():
            self._view.say(self._remarks.get())
        for news in self._feed.fetch():
            self._summary.take(news)
            self._view.take(news, self._summary)
        self._view.draw(self._summary)

    def _signalled(self, number: signal.Signals) -> None:
        if self._leave_by_s is not None:
            _vanish(self._view)
        elif number is signal.SIGINT and not self._summary.stopping:
            self._summary.stopping = True
            self.driver.stop()
            self._show()
            self._view.say(_waits_for(self._summary))
        else:
            self._leave_by_s = time.monotonic() + _LEAVE_WITHIN_S
            self.driver.stop(now="interrupted" if number is signal.SIGINT else f"interrupted by {number.name}")


def _waits_for(summary: Summary) -> str:
    if not summary.running:
        return "stopping: nothing new starts, and nothing runs"
    running = summary.running
    then = "commands go on, calls of functions end and are made again on resume" if summary.calls else "they go on"
    return (
        f"stopping: nothing new starts; waiting for {counted(len(running), 'running task')}: {some(running)}\n"
        f"Ctrl-C again leaves at once; {then}"
    )


def _vanish(view: View) -> None:
    """Leave without the driver's thread, which does not answer; the store and the supervisors are made for that."""
    view.close()
    os._exit(Exit.INTERRUPTED)


def drive(
    store: Store,
    project: Project,
    *,
    run: str,
    name: str,
    opening: Opening,
    executor: Executor,
    strategy: Strategy,
    manner: Manner,
    ready: Callable[[], None] | None = None,
) -> int:
    """Drive a run and tell how it went; return the exit code. `ready` is called once, when the run is under way."""
    view = choose_view(
        quiet=manner.quiet,
        jsonl=manner.jsonl,
        err=sys.stderr,
        environ=project.environ,
        out=lambda: sys.stdout.buffer,
    )
    telling = Telling(project, run=run, open_store=store.reopen, given=manner.notify)
    work = Drive(store, executor, run=run, view=view, strategy=strategy, listener=both(telling, _once(ready)))
    telling.say = store.say = executor.say = work.say
    try:
        verdict = work.go(opening)
    except LeaseHeld as held:
        raise LeaseHeld(name, holder=held.holder) from held  # the store knows ids only
    except BaseException:
        telling.leave(within_s=LEAVE_WITHIN_S)
        raise
    tell(verdict, work.driver.state, store, quiet=manner.quiet)
    problem = telling.finish(verdict, waits=lambda text: None if manner.quiet else note(text))
    if problem is not None:
        write_err([f"warning: {problem}"])
    return verdict.exit_code


def _once(ready: Callable[[], None] | None) -> Listener | None:
    if ready is None:
        return None
    pending = [ready]

    def listener(events: object, state: RunState) -> None:
        while pending:
            pending.pop()()

    return listener


def tell(verdict: Verdict, state: RunState, store: Store, *, quiet: bool = False, hint: str = "") -> None:
    """Write the verdict; who wants quiet hears only that something is wrong, in one line."""
    if not quiet:
        if state.settings.agents:
            _tell_costs(state, store)
        write_err(verdict_lines(verdict, state, store, hint=hint))
    elif verdict.exit_code:
        write_err([in_one_line(verdict, state)])


def _tell_costs(state: RunState, store: Store) -> None:
    from budwood.cli.costs import cost_lines
    from budwood.project.costs import attempt_costs

    attempts = attempt_costs(store.read(state.id))
    if attempts:
        room = terminal_width() if sys.stderr.isatty() else None
        write_err((*cost_lines(attempts, room=room, most=_SHOWN_COSTS), ""))


def write_err(lines: Iterable[str]) -> None:
    """Write lines to standard error, if there are any."""
    text = "\n".join(lines)
    if text:
        note(text)
