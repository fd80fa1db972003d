"""One line per thing that happened, for files, pipes and CI.

Knows lines. Writes those of one hand-over together.
"""

from contextlib import suppress
from typing import TextIO

from budwood.cli.view.lines import lines_of
from budwood.cli.view.view import View
from budwood.project.feed import News
from budwood.project.summary import Summary


class Plain(View):
    """Writes lines."""

    def __init__(self, err: TextIO) -> None:
        self._err = err
        self._pending: list[str] = []

    def take(self, news: News, summary: Summary) -> None:
        self._pending += (f"{line.text}\n" for line in lines_of(news))

    def draw(self, summary: Summary) -> None:
        text, self._pending = "".join(self._pending), []
        if text:
            with suppress(OSError):  # a terminal that was closed: the run goes on, its events are in the store
                self._err.write(text)
                self._err.flush()

    def say(self, text: str) -> None:
        self._pending.append(f"{text}\n")
