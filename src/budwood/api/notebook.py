"""A run's progress in a notebook: drawn in place, some times a second, until the run rests.

Uses the IPython that the program runs in and loads none of its own. Draws from a thread of its own, so that cells stay
free. Knows how a run is looked at; what is drawn is `picture`'s.
"""

import sys
import threading
import time
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Protocol

from budwood._core.events import AttemptEnded, TasksRetried
from budwood._core.model import ENDED_RUN, TaskPhase
from budwood._core.replay import fold
from budwood._core.state import RunState
from budwood.api.driving import Glance, glance_at
from budwood.api.inside import Inside
from budwood.api.picture import Picture, Row, as_html, as_text
from budwood.api.views import Rows
from budwood.errors import UsageError
from budwood.project.feed import Feed, News
from budwood.project.summary import Summary
from budwood.project.times import span
from budwood.stores import Store

DRAW_EVERY_S = 0.25


class _Handle(Protocol):
    def update(self, obj: object, *, raw: bool) -> None: ...


def show(inside: Inside) -> None:
    """Show a run where the current cell puts its output, and keep that up to date."""
    shell = _shell()
    view = _View(inside)
    display: Callable[..., _Handle] = import_module("IPython.display").display
    handle = display(view.bundle(), raw=True, display_id=True)
    if not hasattr(shell, "kernel") or inside.rests():  # a terminal cannot change what it has printed
        view.close()
        return
    threading.Thread(target=_keep_up, args=(view, handle), name="budwood show", daemon=True).start()


def snapshot(inside: Inside) -> str:
    """Draw a run as it stands now."""
    view = _View(inside)
    try:
        return as_html(view.picture())
    finally:
        view.close()


def _shell() -> object:
    ipython: ModuleType | None = sys.modules.get("IPython")
    shell: object = None if ipython is None else ipython.get_ipython()
    if shell is None:
        raise UsageError("there is no notebook to show this in", hint="print(run), run.wait(), or budwood watch RUN")
    return shell


def _keep_up(view: "_View", handle: _Handle) -> None:
    try:
        drawn: dict[str, str] = {}
        over = False
        while True:
            bundle = view.bundle()
            if bundle != drawn:
                handle.update(bundle, raw=True)
                drawn = bundle
            if over:
                return
            over = view.wait(DRAW_EVERY_S)
    except (
        Exception
    ):  # the kernel leaves, or the store is gone: whoever waits for the run hears of that, not its picture
        return
    finally:
        view.close()


class _View:
    """One run, looked at again and again: told by our own driver, or read from the store of another's."""

    def __init__(self, inside: Inside) -> None:
        self._inside = inside
        self._store: Store = inside.look.open()
        self._feed = Feed(lambda: None)
        self._summary = Summary(_now_ms)
        self._state = RunState()
        self._driving = inside.at_work
        self._detach: Callable[[], None] = lambda: None
        if self._driving is not None:
            self._detach = self._driving.attach(self._feed)
        self._failed = self._failures_so_far()

    def bundle(self) -> dict[str, str]:
        """Draw it, for notebooks and for what shows text only."""
        picture = self.picture()
        return {"text/html": as_html(picture), "text/plain": as_text(picture)}

    def picture(self) -> Picture:
        """Look at the run as it stands now."""
        glance = self._look_again()
        summary = self._summary
        running = sorted(summary.running.values(), key=lambda each: each.slot)
        over = glance.phase in ENDED_RUN
        return Picture(
            name=self._inside.look.name,
            state=self._words(glance),
            counts=glance.counts,
            running=() if over else tuple(Row(each.task, span(summary.running_s(each))) for each in running),
            failed=tuple(Row(task, text) for task, text in self._failed.items()),
            elapsed_s=glance.driven_s(),
            left_s=None if over else summary.left_s(),
            cost_usd=glance.cost_usd,
        )

    def wait(self, timeout_s: float) -> bool:
        """Let some time pass; say whether the run rests."""
        if self._driving is not None:
            return self._driving.over.wait(timeout_s)
        rests = self._inside.look.rests(self._store)
        if not rests:
            time.sleep(timeout_s)
        return rests

    def close(self) -> None:
        """Stop looking."""
        self._detach()
        self._store.close()

    def _look_again(self) -> Glance:
        if self._driving is None:
            events = list(self._store.read(self._inside.look.run, self._state.number))
            fold(events, self._state)
            self._feed(events, self._state)
        for news in self._feed.fetch():
            self._summary.take(news)
            self._take_failures(news)
        if self._driving is not None and self._driving.glance is not None:
            return self._driving.glance
        return glance_at(self._state)

    def _words(self, glance: Glance) -> str:
        if self._driving is not None and self._driving.stopping and glance.phase not in ENDED_RUN:
            return "interrupted" if self._driving.over.is_set else "stopping: nothing new starts"
        return f"{glance.phase}: {self._summary.state}" if self._summary.state else glance.phase.value

    def _failures_so_far(self) -> dict[str, str]:
        if self._driving is None:
            return {}  # they are read with everything else
        rows = Rows(self._store.tasks(self._inside.look.run), self._store.attempts(self._inside.look.run))
        lasts = [(task, rows.last_of(task)) for task in rows.tasks if task.phase is TaskPhase.FAILED]
        return {str(task.id): last.error.message for task, last in lasts if last is not None and last.error is not None}

    def _take_failures(self, news: News) -> None:
        for recorded in news.events:
            event = recorded.event
            if isinstance(event, AttemptEnded):
                self._failed.pop(str(event.task), None)
                if event.error is not None and not event.error.will_retry:
                    self._failed[str(event.task)] = event.error.message
            elif isinstance(event, TasksRetried):
                for task in event.tasks:
                    self._failed.pop(str(task), None)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
