"""Makes run.svg: a real run is killed with -9 and goes on, and what its live view shows at two moments is recorded.

    .venv/bin/python docs/pictures/make.py

Run it again when the live view has changed. It uses the command line's own parts, so that the picture cannot show what
the program does not.
"""

import os
import signal
import sys
import tempfile
from collections.abc import Callable
from io import StringIO
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

from budwood.cli.drive import Drive
from budwood.cli.view import News, Summary, View
from budwood.cli.view import live as live_view
from budwood.cli.view.lines import Line, lines_of
from budwood.project.executing import make_executor
from budwood.project.planned import fresh_run_id, read_planned

WIDTH, HEIGHT = 84, 24
KILLED_AT, SHOWN_AT = 6, 13
"""The driver is killed, and the picture taken, when so many of the tasks have ended."""
FONT = "'DejaVu Sans Mono', 'Liberation Mono', Menlo, Consolas, monospace"
"""Fonts that readers have and whose bars are as wide as their letters; rich would fetch one from the network."""

_CITIES = ("bergen", "lagos", "lima", "osaka", "perth", "quito")
_HEAD = """\
[run]
name = "atlas"
slots = 4
backoff = "300ms"
"""


def plan_text() -> str:
    """Write a plan whose tasks take different times; one of them is tried again, one fails for good."""
    parts = [_HEAD]
    for number, city in enumerate(_CITIES):
        fetch = f"sleep 0.{3 + number}"
        if city == "lima":
            fetch = 'test "$BUDWOOD_ATTEMPT" -gt 1 && sleep 0.5'
        parts.append(_task(f"fetch-{city}", fetch, retries=1))
        clean = "sleep 0.2; exit 3" if city == "osaka" else f"sleep 0.{4 + number}"
        parts.append(_task(f"clean-{city}", clean, after=[f"fetch-{city}"]))
        parts.append(_task(f"draw-{city}", f"sleep {1 + number * 0.4:.1f}", after=[f"clean-{city}"]))
    drawn = [f"draw-{city}" for city in _CITIES if city != "osaka"]
    parts.append(_task("bind", "sleep 0.5", after=drawn))
    return "\n".join(parts)


def _task(name: str, command: str, *, after: list[str] | None = None, retries: int = 0) -> str:
    needs = "".join(f'"{each}", ' for each in after or [])
    return f"[[task]]\nid = \"{name}\"\nrun = '{command}'\nafter = [{needs}]\nretries = {retries}\n"


class Screen(View):
    """The live view's lines and picture, kept at the moment when enough has ended and every slot is busy."""

    tick_s = 0.1

    def __init__(self, *, at: int, then: Callable[["Screen"], None]) -> None:
        self.shown = ""
        self._at, self._then = at, then
        self._lines: list[Line] = []

    def take(self, news: News, summary: Summary) -> None:
        """Keep the lines that stay on a terminal."""
        self._lines += (line for line in lines_of(news) if line.kind != "done")

    def draw(self, summary: Summary) -> None:
        """Record the screen, once."""
        if self.shown or summary.ended < self._at or len(summary.running) < summary.slots:
            return
        console = _console()
        for line in self._lines:
            style = live_view._COLOURS.get(line.kind, "")
            console.print(line.text, style=style, markup=False, highlight=False, soft_wrap=True)
        console.print(live_view.picture(summary, width=WIDTH, height=HEIGHT))
        self.shown = console.export_text(styles=True).rstrip()
        self._then(self)

    def say(self, text: str) -> None:
        """Say nothing: nobody stops this run but by a kill."""


def _console() -> Console:
    return Console(
        record=True, width=WIDTH, height=HEIGHT, file=StringIO(), force_terminal=True, color_system="standard"
    )


def drive(plan: Path, view: View) -> None:
    """Do what `budwood run` does, with this view."""
    planned = read_planned(str(plan), {})
    with planned.project.open_store(planned.resolved, create=True) as store:
        claim = store.claim(fresh_run_id(), name=planned.name, source=planned.source, fresh=False)
        executor = make_executor(planned.project, claim.run, planned.settings, store=store.address)
        Drive(store, executor, run=claim.run, view=view).go(planned.opening(run=claim.run, name=claim.name))


def drive_and_die(plan: Path, kept: Path) -> None:
    """Drive in a process of its own, which keeps its screen in a file and kills itself with -9."""

    def die(screen: Screen) -> None:
        kept.write_text(screen.shown, encoding="utf-8")
        os.kill(os.getpid(), signal.SIGKILL)

    pid = os.fork()
    if pid == 0:
        drive(plan, Screen(at=KILLED_AT, then=die))
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    if not os.WIFSIGNALED(status):
        raise RuntimeError("the run ended before it could be killed")


def record(folder: Path) -> str:
    """Run, kill and resume the plan in a folder; return the picture."""
    plan, kept = folder / "atlas.toml", folder / "screen"
    plan.write_text(plan_text(), encoding="utf-8")
    (folder / "budwood.toml").touch()  # this is the project, whatever lies above it
    drive_and_die(plan, kept)
    screen = Screen(at=SHOWN_AT, then=lambda _: None)
    drive(plan, screen)
    if not screen.shown:
        raise RuntimeError("the moment to record never came; run it again")
    console = _console()
    console.print(Text.from_markup("[bold]$[/] budwood run atlas.toml"))
    console.print(Text.from_ansi(kept.read_text(encoding="utf-8")))
    console.print("Killed", style="bold red")
    console.print(Text.from_markup("[bold]$[/] budwood run atlas.toml"))
    console.print(Text.from_ansi(screen.shown))
    svg = console.export_svg(title="killed with -9, and run again", theme=MONOKAI, unique_id="budwood")
    return with_local_fonts(svg)


def with_local_fonts(svg: str) -> str:
    """Take out the fonts that rich would load from elsewhere."""
    before, _, rest = svg.partition("@font-face")
    _, _, last = rest.rpartition("@font-face")
    _, _, styles = last.partition("}")
    lines = (before.rstrip() + styles).replace("Fira Code, monospace", FONT).splitlines()
    return "\n".join(line.rstrip() for line in lines) + "\n"


def main() -> int:
    """Write the picture beside this file."""
    with tempfile.TemporaryDirectory(prefix="budwood-picture-") as folder:
        svg = record(Path(folder))
    target = Path(__file__).with_name("run.svg")
    target.write_text(svg, encoding="utf-8")
    print(target)
    return 0


if __name__ == "__main__":
    sys.exit(main())
