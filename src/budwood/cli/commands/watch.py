"""`budwood watch`: follow a run that somebody else drives."""

import os
import sys
from time import sleep

import click

from budwood._core.events import Recorded
from budwood._core.model import ENDED_RUN, RunPhase
from budwood._core.replay import fold
from budwood._core.rows import RunRow
from budwood._core.state import RunState
from budwood.cli.arguments import run_argument
from budwood.cli.looking import looking, note, now_ms, store_option
from budwood.cli.verdict import verdict_lines
from budwood.cli.view import Feed, Summary, View, choose_view
from budwood.engine.verdict import Exit, reach_verdict
from budwood.project.find import find_run, not_begun
from budwood.stores import Store

LOOK_EVERY_S = 0.25
DRAW_EVERY_S = 0.05
"""A busy run is not drawn more often."""


@click.command("watch")
@run_argument(required=False)
@click.option("--jsonl", is_flag=True, help="Write every event as a line of JSON to standard output.")
@click.option(
    "--after",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="With --jsonl: begin behind this event's number.",
)
@store_option
def command(run: str, jsonl: bool, after: int, where: str | None) -> int:
    """Follow a run that is driven elsewhere, until it rests.

    Ctrl-C leaves the run alone. The exit code is the run's own.

    \b
    Example: budwood watch night
    """
    with looking(where) as (_, store):
        row = find_run(store, run)
        if row.last_event == 0 and store.holder(row.id) is None:
            raise not_begun(row)
        view = choose_view(
            quiet=False,
            jsonl=jsonl,
            err=sys.stderr,
            environ=os.environ,
            out=lambda: sys.stdout.buffer,
        )
        watching = Watching(store, row, view)
        try:
            watching.catch_up(shown_after=after if jsonl else None)
            watching.until_rest()
        except KeyboardInterrupt:
            view.close()
            note(f"left; run {row.name} goes on")
            raise click.exceptions.Exit(130) from None
        view.close()
        if view.lost is not None:
            return 0 if isinstance(view.lost, BrokenPipeError) else Exit.WAITS
        verdict = reach_verdict(watching.state)
        for line in verdict_lines(verdict, watching.state, store):
            note(line)
        if watching.is_alone():
            note(f"\nnobody drives it\n\nhint: budwood resume {row.name}")
        return int(verdict.exit_code)


class Watching:
    """A run seen from outside: its events are read from the store as they come."""

    def __init__(self, store: Store, run: RunRow, view: View) -> None:
        self.state = RunState()
        self._store = store
        self._run = run.id
        self._view = view
        self._feed = Feed(lambda: None)
        self._summary = Summary(now_ms)

    def catch_up(self, *, shown_after: int | None) -> None:
        """Take what happened before we came; it is only shown, from that number on, to who wants every event."""
        past = self._read()
        for news in self._feed.fetch():
            self._summary.take(news)
        self._summary.began_at_ms = self.state.drive_at_ms or self._summary.began_at_ms
        if shown_after is not None:
            self._feed([recorded for recorded in past if recorded.number > shown_after], self.state)
            self._show()

    def until_rest(self) -> None:
        """Show what happens until nothing more can."""
        while True:
            resting = self._rests()  # before reading: what was written until then is read
            self._read()
            self._show()
            if (resting and self._rests()) or self._view.lost is not None:
                return
            if self._store.wait(self._run, after=self.state.number, timeout_s=LOOK_EVERY_S):
                sleep(DRAW_EVERY_S)

    def is_alone(self) -> bool:
        """Say whether the run could go on and nobody drives it."""
        return self.state.phase not in (*ENDED_RUN, RunPhase.PAUSED)

    def _read(self) -> list[Recorded]:
        events = list(self._store.read(self._run, after=self.state.number))
        if events:
            fold(events, self.state)
            self._feed(events, self.state)
        return events

    def _show(self) -> None:
        for news in self._feed.fetch():
            self._summary.take(news)
            self._view.take(news, self._summary)
        self._view.draw(self._summary)

    def _rests(self) -> bool:
        return self.state.phase in ENDED_RUN or self._store.holder(self._run) is None
