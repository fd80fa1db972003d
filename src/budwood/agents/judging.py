"""How an agent's work ended, weighed from everything that tells of it. The order of trust is here and nowhere else.

1. wording about a limit, a login or a quota: in error records, in the program's own lines, and in an answer that is
   nothing but such a notice. What stands before a record of success is a retry that went well, and does not count;
   nor do an agent's messages and the output of its tools, which are no errors whatever words they have;
2. what the program's records say;
3. how its process ended.

Knows readings and wording; must not know any program's records.
"""

import signal as signals
from collections.abc import Iterable
from datetime import tzinfo

from msgspec import Struct

from budwood.agents.base import OutcomeKind, Reading, Tokens
from budwood.agents.limits import Notice, notice_in, whole_notice
from budwood.agents.records import one_line
from budwood.agents.resets import reset_in

_ACCOUNT = (OutcomeKind.LIMIT, OutcomeKind.AUTH, OutcomeKind.QUOTA)
_CRASHES = (signals.SIGSEGV, signals.SIGABRT, signals.SIGBUS, signals.SIGFPE, signals.SIGILL, signals.SIGSYS)
_ENDED_BY = {128 + each: each for each in (signals.SIGHUP, signals.SIGINT, signals.SIGKILL, signals.SIGTERM)}
"""Exit codes of programs that catch a signal, or whose shell tells of it."""


class Told(Struct, frozen=True, kw_only=True):
    """What a program's own output says, not yet weighed."""

    success: bool | None = None
    """None: it does not say."""
    kind: OutcomeKind | None = None
    """What stopped it, where a record names that."""
    message: str = ""
    answer: str = ""
    errors: tuple[str, ...] = ()
    """Texts that are errors, or the program's own lines, in order."""
    whole_only: bool = False
    """Whether they may be anybody's words, so that only a text that is a notice from its first word on counts."""
    until_ms: int | None = None
    cost_usd: float | None = None
    split: Tokens | None = None
    by_model: dict[str, Tokens] = {}
    turns: int | None = None
    session: str | None = None
    denied: tuple[str, ...] = ()
    answered: bool | None = None
    """Whether any answer of a model is in it; None where that is not seen."""


class Ending(Struct, frozen=True, kw_only=True):
    """How the process ended, and when."""

    exit_code: int | None
    signal: int | None
    now_ms: int
    zone: tzinfo
    timed_out: bool = False


def judge(told: Told, ending: Ending) -> Reading:
    """Weigh what was told."""
    kind, message, until_ms = _weigh(told, ending)
    if kind is OutcomeKind.OK and told.denied:
        message = f"done, though it was refused {', '.join(told.denied)}"
    return Reading(
        kind=kind,
        message=one_line(message),
        until_ms=until_ms,
        cost_usd=told.cost_usd,
        tokens=None if told.split is None else told.split.total,
        split=told.split,
        by_model=told.by_model,
        turns=told.turns,
        session=told.session,
        denied=told.denied,
        answered=told.answered,
    )


def _weigh(told: Told, ending: Ending) -> tuple[OutcomeKind, str, int | None]:
    notices = _notices(told, ending)
    lie = whole_notice(told.answer, now_ms=ending.now_ms, zone=ending.zone) if told.answer else None
    if lie is not None:
        notices.append(lie)
    account = [notice for notice in notices if notice.kind in _ACCOUNT]
    if account or told.kind in _ACCOUNT:
        return _stopped(told, account, ending=ending)
    if told.kind is not None:
        return told.kind, told.message, None
    if told.success and lie is None:
        return OutcomeKind.OK, "", None
    if ending.timed_out:
        return OutcomeKind.TIMEOUT, "stopped at its time limit", None
    if notices:
        return notices[-1].kind, notices[-1].message, None
    number = ending.signal if ending.signal is not None else _ENDED_BY.get(ending.exit_code or 0)
    if number is not None:
        kind = OutcomeKind.FAILED if number in _CRASHES else OutcomeKind.KILLED
        return kind, f"{'it crashed' if number in _CRASHES else 'it was ended'} by {_signal_name(number)}", None
    return _by_exit(told, ending)


def _stopped(told: Told, account: list[Notice], *, ending: Ending) -> tuple[OutcomeKind, str, int | None]:
    """Say which of the account's troubles it was: the last that was told, and the latest end that was stated for it."""
    last = account[-1] if account else Notice(kind=told.kind or OutcomeKind.FAILED, message=told.message)
    if last.kind is not OutcomeKind.LIMIT:
        return last.kind, last.message, None
    # A program may state the end in a line of its own, such as a header.
    beside = () if told.whole_only else told.errors
    stated = [reset_in(text, now_ms=ending.now_ms, zone=ending.zone) for text in beside]
    stated += [notice.until_ms for notice in account]
    stated += [told.until_ms if (told.until_ms or 0) > ending.now_ms else None]
    return last.kind, last.message, max((each for each in stated if each is not None), default=None)


def _notices(told: Told, ending: Ending) -> list[Notice]:
    look = whole_notice if told.whole_only else notice_in
    found: Iterable[Notice | None] = (look(text, now_ms=ending.now_ms, zone=ending.zone) for text in told.errors)
    return [notice for notice in found if notice is not None]


def _by_exit(told: Told, ending: Ending) -> tuple[OutcomeKind, str, int | None]:
    last = told.message or (told.errors[-1] if told.errors else "")
    if told.success is None and ending.exit_code == 0:
        return OutcomeKind.FAILED, f"it ended without a word on success{f': {last}' if last else ''}", None
    return OutcomeKind.FAILED, last or f"exit code {ending.exit_code}", None


def _signal_name(number: int) -> str:
    try:
        return signals.Signals(number).name
    except ValueError:
        return f"signal {number}"
