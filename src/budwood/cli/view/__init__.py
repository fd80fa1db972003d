"""What somebody who drives a run sees: live on a terminal, plain lines elsewhere, JSON lines for programs.

A view is called from the main thread only, some times a second; it must cost little, because the driver shares the
interpreter. All write to standard error, but for the JSON lines.
"""

from collections.abc import Callable, Mapping
from typing import BinaryIO, TextIO

from budwood.cli.view.plain import Plain
from budwood.cli.view.quiet import JsonLines, Quiet
from budwood.cli.view.view import View
from budwood.project.feed import Feed, News
from budwood.project.summary import Summary

__all__ = ["Feed", "News", "Summary", "View", "choose_view"]


def choose_view(
    *, quiet: bool, jsonl: bool, err: TextIO, environ: Mapping[str, str], out: Callable[[], BinaryIO]
) -> View:
    """Pick the view that fits what was asked for and what standard error is."""
    if jsonl:
        return JsonLines(out(), err)
    if quiet:
        return Quiet()
    if not err.isatty() or environ.get("CI") or environ.get("TERM", "dumb") == "dumb":
        return Plain(err)
    from budwood.cli.view.live import Live

    return Live(err)
