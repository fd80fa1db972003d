"""A file of steps: TOML in, steps out, or one line that names file, step and key.

Knows the notation. Must not do anything, nor read the environment.

    [[step]]
    do = "write"
    path = "notes/{task}.txt"
    text = "attempt {attempt}"

    [[step]]
    do = "fail"
    only_attempt = 1
"""

import re
import tomllib
from datetime import datetime
from pathlib import Path
from typing import Annotated, TypeAlias

import msgspec
from msgspec import Meta, Struct

from budwood._core.suggest import did_you_mean
from budwood.errors import UsageError

Seconds: TypeAlias = Annotated[float, Meta(ge=0, le=3600)]
Name: TypeAlias = Annotated[str, Meta(min_length=1)]
Number: TypeAlias = Annotated[int, Meta(ge=1)]


class Step(Struct, frozen=True, kw_only=True, tag_field="do", tag=str.lower, forbid_unknown_fields=True):
    """What all steps have: in which attempts they are done."""

    only_attempt: Number | None = None
    from_attempt: Number | None = None


class Write(Step, frozen=True, kw_only=True):
    """Write a file, with the folders above it."""

    path: Name
    text: str


class Append(Step, frozen=True, kw_only=True):
    """Add text to a file, which may be new."""

    path: Name
    text: str


class Edit(Step, frozen=True, kw_only=True):
    """Replace every place of a text in a file, where it must be."""

    path: Name
    find: Name
    replace: str


class Read(Step, frozen=True, kw_only=True):
    """Print a file, which must be there, and contain a text if one is given."""

    path: Name
    contains: str = ""


class Delete(Step, frozen=True, kw_only=True):
    """Delete a file, which must be there."""

    path: Name


class Run(Step, frozen=True, kw_only=True):
    """Run a command by the shell; its exit code counts."""

    command: Name


class Sleep(Step, frozen=True, kw_only=True):
    """Wait, for at most an hour."""

    seconds: Seconds


class Fail(Step, frozen=True, kw_only=True):
    """End here, as a failure."""

    message: str = "told to fail"
    exit_code: Annotated[int, Meta(ge=1, le=255)] = 1


class Commit(Step, frozen=True, kw_only=True):
    """Commit everything in the workspace."""

    message: Name


class Say(Step, frozen=True, kw_only=True):
    """Print."""

    text: str


class Cost(Step, frozen=True, kw_only=True):
    """Report that something was consumed; several add up."""

    usd: Annotated[float, Meta(ge=0, lt=1e12)] | None = None
    tokens: Annotated[int, Meta(ge=0)] | None = None


class Crash(Step, frozen=True, kw_only=True):
    """Die by a signal."""

    signal: str = "SIGKILL"


class Hang(Step, frozen=True, kw_only=True):
    """Do nothing, for ever."""


class Limit(Step, frozen=True, kw_only=True):
    """End at a limit that holds until a time, or for so many seconds from now; without `until` it is not said."""

    until: datetime | Annotated[float, Meta(ge=0, le=31 * 86_400)] | None = None


AnyStep: TypeAlias = (
    Write | Append | Edit | Read | Delete | Run | Sleep | Fail | Commit | Say | Cost | Crash | Hang | Limit
)
_KINDS: dict[str, type[AnyStep]] = {
    kind.__name__.lower(): kind
    for kind in (Write, Append, Edit, Read, Delete, Run, Sleep, Fail, Commit, Say, Cost, Crash, Hang, Limit)
}
SIGNALS = ("SIGKILL", "SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGABRT", "SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL")
"""Those that end a process."""


def read_steps(file: Path) -> tuple[AnyStep, ...]:
    """Read a file of steps; whatever is wrong raises UsageError, and then nothing was done."""
    try:
        tables = tomllib.loads(file.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{file} is no UTF-8 text (byte {error.start})") from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError(f"{file} is no TOML: {error}") from error
    unknown = next((key for key in tables if key != "step"), None)
    if unknown is not None:
        raise UsageError(f"{file}: unknown key {unknown!r}", hint="did you mean [[step]]?")
    steps = tables.get("step")
    if not isinstance(steps, list) or not all(isinstance(step, dict) for step in steps) or not steps:
        raise UsageError(f"{file} has no steps", hint='add one: [[step]] with do = "say" and text = "hello"')
    return tuple(_read_step(step, where=f"{file}: step {number}") for number, step in enumerate(steps, 1))


def _read_step(step: dict[str, object], *, where: str) -> AnyStep:
    do = step.get("do")
    if not isinstance(do, str):
        raise UsageError(f"{where}: 'do' says what to do, and is {'missing' if do is None else 'no text'}", hint=_all())
    kind = _KINDS.get(do)
    if kind is None:
        raise UsageError(f"{where}: unknown step {do!r}", hint=did_you_mean(do, _KINDS) or _all())
    keys = ("do", *kind.__struct_fields__)
    for key in step:
        if key not in keys:
            hint = did_you_mean(key, keys) or f"{do} takes {', '.join(keys[1:])}"
            raise UsageError(f"{where} ({do}): unknown key {key!r}", hint=hint)
    try:
        read = msgspec.convert(step, kind)
    except msgspec.ValidationError as error:
        raise _explained(str(error), where=f"{where} ({do})") from None
    _check(read, where=f"{where} ({do})")
    return read


def _explained(said: str, *, where: str) -> UsageError:
    """Say in one line which key has which fault; msgspec puts the key behind its words."""
    words, _, place = said.partition(" - at `$.")
    missing = re.search(r"missing required field `(\w+)`", words)
    if missing:
        return UsageError(f"{where}: the key {missing[1]!r} is missing", hint=f"add {missing[1]} = …")
    return UsageError(f"{where}: {place.strip('`')!r} has a wrong value", hint=words[:1].lower() + words[1:])


def _check(step: AnyStep, *, where: str) -> None:
    """Refuse what each value may be, but not with the others."""
    if step.only_attempt is not None and step.from_attempt is not None:
        raise UsageError(f"{where}: 'only_attempt' and 'from_attempt' exclude each other", hint="leave one out")
    if isinstance(step, Cost) and step.usd is None and step.tokens is None:
        raise UsageError(f"{where}: the key 'usd' is missing, and 'tokens' too", hint="give one of them, or both")
    if isinstance(step, Limit) and isinstance(step.until, datetime) and step.until.tzinfo is None:
        raise UsageError(f"{where}: 'until' has no time zone", hint="add Z, or an offset as +02:00")
    if isinstance(step, Crash) and step.signal not in SIGNALS:
        hint = did_you_mean(step.signal.upper(), SIGNALS) or f"one of {', '.join(SIGNALS)}"
        raise UsageError(f"{where}: 'signal' is {step.signal!r}, which ends no process", hint=hint)


def _all() -> str:
    return f"steps are {', '.join(_KINDS)}"
