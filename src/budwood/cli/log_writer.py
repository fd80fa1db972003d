"""Where logs go: bytes as they are into a pipe, made safe on a terminal; several are mixed line by line, with ids.

Knows standard output. Must not know where the bytes come from.
"""

import codecs
import re
import sys

import click

from budwood.cli.text import dim, has_colour, is_terminal, visible

_UNFINISHED = re.compile(r"(\r|\x1b(\[[0-9;:]*)?)$")
"""What can only be judged when more has come."""


class LogWriter:
    """Writes one attempt's log, piece by piece."""

    def __init__(self, *, raw: bool, prefix: str = "") -> None:
        self._safe = is_terminal() and not raw
        self._prefix = prefix
        self._decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")
        self._held = ""
        self._line = b""
        self._out = sys.stdout.buffer

    def write(self, data: bytes) -> None:
        """Write a piece; in prefixed output only whole lines appear, so that tasks do not mix within a line."""
        if not self._prefix:
            self._put(data)
        elif data:
            *lines, self._line = (self._line + data).split(b"\n")
            for line in lines:
                self._put_line(line + b"\n")
        self._out.flush()

    def close(self) -> None:
        """Write what is held back."""
        if self._prefix and self._line:
            self._put_line(self._line + b"\n")
            self._line = b""
        if self._safe:
            click.echo(visible(self._held + self._decoder.decode(b"", True), colour=has_colour()), nl=False)
            self._held = ""
        self._out.flush()

    def _put_line(self, line: bytes) -> None:
        if self._safe:
            click.echo(
                dim(self._prefix) + visible(line.decode("utf-8", "backslashreplace"), colour=has_colour()), nl=False
            )
        else:
            self._out.write(self._prefix.encode() + line)

    def _put(self, data: bytes) -> None:
        if not self._safe:
            self._out.write(data)
            return
        text = self._held + self._decoder.decode(data)
        unfinished = _UNFINISHED.search(text)
        self._held = unfinished[0] if unfinished else ""
        click.echo(visible(text[: len(text) - len(self._held)], colour=has_colour()), nl=False)
