"""Views that show people nothing: silence, and every event as JSON for programs.

Knows the public shape of events. Standard output belongs to the JSON alone.
"""

import os
from typing import BinaryIO

import msgspec

from budwood._core.events import as_json
from budwood.cli.view.feed import News
from budwood.cli.view.summary import Summary
from budwood.cli.view.view import View


class Quiet(View):
    """Shows nothing; the verdict speaks if something is wrong."""

    def take(self, news: News, summary: Summary) -> None:
        return

    def say(self, text: str) -> None:
        return


class JsonLines(View):
    """Writes every event as one line."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self._encoder = msgspec.json.Encoder()
        self._gone = False

    def take(self, news: News, summary: Summary) -> None:
        if self._gone:
            return
        try:
            for recorded in news.events:
                self._out.write(self._encoder.encode(as_json(recorded)) + b"\n")
            self._out.flush()
        except BrokenPipeError:
            # Whoever read has left. That must end neither the run nor, when buffers are flushed at exit, its exit code.
            self._gone = True
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, self._out.fileno())
            os.close(null)

    def say(self, text: str) -> None:
        return
