"""Views that show people nothing: silence, and every event as JSON for programs.

Knows the public shape of events. Standard output belongs to the JSON alone.
"""

from contextlib import suppress
from typing import BinaryIO, TextIO

import msgspec

from budwood._core.events import as_json
from budwood.cli.streams import give_up
from budwood.cli.view.view import View
from budwood.project.feed import News
from budwood.project.summary import Summary


class Quiet(View):
    """Shows nothing; the verdict speaks if something is wrong."""

    def take(self, news: News, summary: Summary) -> None:
        return

    def say(self, text: str) -> None:
        return


class JsonLines(View):
    """Writes every event as one line, until one cannot be written: a stream has no gaps."""

    def __init__(self, out: BinaryIO, err: TextIO) -> None:
        self._out = out
        self._err = err
        self._encoder = msgspec.json.Encoder()

    def take(self, news: News, summary: Summary) -> None:
        if self.lost is not None:
            return
        try:
            for recorded in news.events:
                self._out.write(self._encoder.encode(as_json(recorded)) + b"\n")
            self._out.flush()
        except OSError as error:
            # Nobody reads any more. That must end neither the run nor, when buffers are flushed at exit, its exit code.
            self.lost = error
            give_up(self._out.fileno())

    def say(self, text: str) -> None:
        return

    def close(self) -> None:
        if self.lost is not None and not isinstance(self.lost, BrokenPipeError):  # who left a pipe knows it
            with suppress(OSError):
                self._err.write(f"warning: standard output cannot be written: {self.lost.strerror}\n")
                self._err.flush()
