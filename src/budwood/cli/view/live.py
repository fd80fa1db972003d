"""The live view: a bar, counts, what runs, cost and time left; above it, as lines that stay, failures and other news.

Drawn with rich on standard error, by the main thread alone. A run that is over before the first picture never loads
rich. Knows the summary; must not know the driver.
"""

import time
from contextlib import suppress
from typing import TYPE_CHECKING, TextIO

from budwood._core.model import TaskPhase
from budwood.cli.text import one_line
from budwood.cli.view.lines import Line, lines_of
from budwood.cli.view.view import View
from budwood.project.feed import News
from budwood.project.summary import Summary
from budwood.project.times import rough, span
from budwood.project.words import counted, money

if TYPE_CHECKING:
    from rich.console import Group
    from rich.live import Live as RichLive
    from rich.text import Text

_FIRST_S = 0.15
_MOST_ROWS = 12
_KEPT_FREE = 7
"""Lines of the screen that rows of running tasks leave to the rest."""
_COLOURS = {
    "done": "green",
    "failed": "red",
    "again": "yellow",
    "skipped": "yellow",
    "cancelled": "yellow",
    "paused": "yellow",
    "waiting": "yellow",
    "asks": "magenta",
    "warning": "yellow",
}
_IN_ROWS = ("done", "says")
"""What the picture itself tells, so that no line has to stay."""
_COUNTED = (TaskPhase.DONE, TaskPhase.FAILED, TaskPhase.SKIPPED, TaskPhase.CANCELLED)


class Live(View):
    """Draws the run where it stands."""

    tick_s = 0.5

    def __init__(self, err: TextIO) -> None:
        self._err = err
        self._live: RichLive | None = None
        self._pending: list[Line] = []
        self._first_s = time.monotonic() + _FIRST_S

    def take(self, news: News, summary: Summary) -> None:
        self._pending += (line for line in lines_of(news) if line.kind not in _IN_ROWS)

    def draw(self, summary: Summary) -> None:
        if time.monotonic() < self._first_s:
            return
        with suppress(OSError):  # a terminal that was closed: the run goes on, its events are in the store
            live = self._open()
            self._print_pending(live)
            size = live.console.size
            colour = not live.console.no_color
            live.update(picture(summary, width=size.width, height=size.height, colour=colour), refresh=True)

    def say(self, text: str) -> None:
        self._pending.append(Line("paused", text))
        self._first_s = 0.0

    def close(self) -> None:
        with suppress(OSError):
            if self._live is not None:
                self._print_pending(self._live)
                self._live.stop()
            else:
                self._err.write("".join(f"{line.text}\n" for line in self._pending))
                self._err.flush()
        self._pending = []

    def _open(self) -> "RichLive":
        if self._live is None:
            from rich.console import Console
            from rich.live import Live as RichLive

            console = Console(file=self._err, stderr=True, highlight=False)
            self._live = RichLive(
                console=console, auto_refresh=False, transient=True, redirect_stdout=False, redirect_stderr=False
            )
            self._live.start()
        return self._live

    def _print_pending(self, live: "RichLive") -> None:
        lines, self._pending = self._pending, []
        for line in lines:
            live.console.print(line.text, style=_COLOURS.get(line.kind, ""), markup=False, soft_wrap=True)


def picture(summary: Summary, *, width: int, height: int, colour: bool = True) -> "Group":
    """Lay the view out for a screen of that size; without colour, the halves of the bar differ by shape."""
    from rich.console import Group
    from rich.text import Text

    lines: list[Text] = [_head(summary, width=width, rest="━" if colour else "╌"), _counts(summary)]
    if summary.search is not None:
        lines.append(Text(f"  {one_line(summary.search.words)}", no_wrap=True, overflow="ellipsis"))
    room = max(1, min(_MOST_ROWS, height - _KEPT_FREE))
    running = sorted(summary.running.values(), key=lambda each: each.slot)
    shown = running if len(running) <= room else running[: room - 1]
    widest = max((len(one_line(each.task)) for each in shown), default=0)
    for each in shown:
        row = Text("  ", no_wrap=True, overflow="ellipsis")
        row.append(f"{span(summary.running_s(each)):>10}", style="cyan")
        row.append(f"  {one_line(each.task):<{min(widest, max(8, width - 30))}}")
        row.append(f"  slot {each.slot}", style="dim")
        if each.says:
            row.append(f"  {one_line(each.says)}", style="magenta" if each.asks else "dim")
        lines.append(row)
    if len(shown) < len(running):
        lines.append(Text(f"              and {len(running) - len(shown)} more are running", style="dim"))
    return Group(*lines)


def _head(summary: Summary, *, width: int, rest: str) -> "Text":
    from rich.text import Text

    planned, ended = summary.planned, summary.ended
    facts = [f"{ended}/{planned}", span(summary.elapsed_s())]
    left_s = summary.left_s()
    if left_s is not None:
        facts.append(f"about {rough(left_s)} left")
    if summary.cost_usd:
        facts.append(money(summary.cost_usd, guessed=summary.untold))
    tail = "  ".join(facts)
    room = max(8, min(40, width - len(summary.name) - len(tail) - 6))
    full = room if planned == 0 else room * ended // planned
    text = Text(no_wrap=True, overflow="ellipsis")
    text.append(summary.name, style="bold")
    text.append("  ")
    text.append("━" * full, style="red" if summary.counts[TaskPhase.FAILED] else "green")
    text.append(rest * (room - full), style="bright_black")
    text.append(f"  {tail}")
    return text


def _counts(summary: Summary) -> "Text":
    from rich.text import Text

    text = Text("  ", no_wrap=True, overflow="ellipsis")
    for phase in _COUNTED:
        number = summary.counts[phase]
        if number or phase is TaskPhase.DONE:
            text.append(f"{number} {phase.value}  ", style=_COLOURS[phase.value])
    text.append(f"{len(summary.running)} running on {counted(summary.slots, 'slot')}  ", style="cyan")
    waiting = summary.counts[TaskPhase.READY] + summary.counts[TaskPhase.BLOCKED]
    if waiting:
        text.append(f"{waiting} to come  ", style="dim")
    if summary.state:
        text.append(one_line(summary.state), style="yellow")
    return text
