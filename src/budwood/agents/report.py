"""The last line of an agent program: one JSON object that says everything, and the file that says what it cost.

Knows outcomes. Must not know how a program came to one.
"""

import os
import sys
from enum import StrEnum
from pathlib import Path

import msgspec
from msgspec import Struct

from budwood.durable import write_whole

USAGE = "BUDWOOD_USAGE"
"""The variable with the name of the file that an attempt's cost goes into."""


class Outcome(StrEnum):
    """How an agent ended."""

    OK = "ok"
    FAILED = "failed"
    AUTH = "auth"
    LIMIT = "limit"
    QUOTA = "quota"
    NOT_FOUND = "not_found"
    CONTEXT = "context"
    """More was asked or wanted than the model takes in."""
    EMPTY = "empty"
    CUT = "cut"
    """The answer stops in the middle; nothing of it was applied."""
    REFUSED = "refused"


class Report(Struct, frozen=True, kw_only=True, tag_field="type", tag="result"):
    """What an agent program says at its end; what is None is not known."""

    agent: str
    outcome: Outcome
    message: str = ""
    until_ms: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    cost_usd: float | None = None
    model: str | None = None
    files: tuple[str, ...] = ()
    request_id: str | None = None


def say(text: str) -> None:
    """Print for people who read the log; whatever the terminal's encoding is, it is UTF-8 and does not fail."""
    sys.stdout.buffer.write(text.encode(errors="backslashreplace") + b"\n")
    sys.stdout.buffer.flush()


def finish(report: Report) -> None:
    """Print the last line."""
    say(msgspec.json.encode(report).decode())


def write_usage(cost_usd: float | None, *, tokens: int | None) -> None:
    """Say what was consumed, where the attempt is asked to; it counts also if the attempt is lost afterwards."""
    name = os.environ.get(USAGE)
    if name:
        write_whole(Path(name), msgspec.json.encode({"cost_usd": cost_usd, "tokens": tokens}))
