"""What a server means that gives no completion: a refused key, a limit until some time, a prompt that is too long.

Knows statuses, headers and the wording of OpenAI-compatible servers. Must not read a clock: what is now is given.
"""

import re
from datetime import datetime
from email.utils import parsedate_to_datetime

import msgspec
from msgspec import Struct

from budwood.agents.model.wire import Reply
from budwood.agents.report import Outcome

_MOST_WORDS = 300
_STATUSES = {401: Outcome.AUTH, 403: Outcome.AUTH, 402: Outcome.QUOTA, 404: Outcome.NOT_FOUND, 413: Outcome.CONTEXT}
_QUOTA = ("insufficient_quota", "exceeded your current quota", "insufficient balance", "billing_hard_limit")
_WORDS: tuple[tuple[Outcome, tuple[str, ...]], ...] = (
    (
        Outcome.CONTEXT,
        (
            *("context_length_exceeded", "maximum context length", "context window", "context length", "context size"),
            *("prompt is too long", "input is too long", "too many tokens", "exceeds the maximum number of tokens"),
        ),
    ),
    (Outcome.REFUSED, ("content_filter", "content_policy", "content management policy", "safety system")),
    (Outcome.NOT_FOUND, ("model_not_found",)),
    (Outcome.AUTH, ("invalid_api_key", "api key not valid")),
)
_SPAN = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?")
_SPAN_UNITS_S = (86400.0, 3600.0, 60.0, 1.0, 0.001)
_RESET = re.compile(r"(?:x-ratelimit-reset|ratelimit-reset)(-\w+)?|anthropic-ratelimit(-\w+)-reset")
_FURTHEST_MS = 31 * 86_400_000
"""A limit that is further away than a month is a mistake in reading it."""


class Refusal(Struct, frozen=True, kw_only=True):
    """Why there is no answer; `until_ms` is when a limit ends, None where that is not said."""

    outcome: Outcome
    message: str
    until_ms: int | None = None
    request_id: str | None = None
    is_unpaid: bool = False
    """Whether nobody can have made an answer, so that it cost nothing; else that is not known."""


def explain(reply: Reply, *, now_ms: int) -> Refusal:
    """Say what a reply means that is no completion."""
    error = _read_error(reply.body)
    # Some servers answer 200 and put what they mean into the body.
    status = error.status if reply.status < 400 and error.status is not None else reply.status
    outcome = _classify(status, error.all.casefold())
    message = _say(reply, error.words, status=status)
    until_ms = limit_until(reply.headers, now_ms=now_ms) if outcome is Outcome.LIMIT else None
    return Refusal(outcome=outcome, message=message, until_ms=until_ms, is_unpaid=300 <= reply.status < 500)


def _classify(status: int, said: str) -> Outcome:
    if status == 429:
        return Outcome.QUOTA if any(word in said for word in _QUOTA) else Outcome.LIMIT
    if status in _STATUSES:
        return _STATUSES[status]
    if 400 <= status < 500:
        for outcome, words in _WORDS:
            if any(word in said for word in words):
                return outcome
    return Outcome.FAILED


def _say(reply: Reply, words: str, *, status: int) -> str:
    if 300 <= status < 400:
        return f"the server answers {status}, which leads elsewhere and is not followed: give the right base URL"
    if status < 300:
        kind = reply.headers.get("content-type", "nothing that says what it is")
        return f"the answer is no chat completion ({kind}, {len(reply.body)} bytes)" + (f": {words}" if words else "")
    return f"the server answers {status}" + (f": {words}" if words else "")


class _Error(Struct, frozen=True):
    words: str
    all: str
    status: int | None


def _read_error(body: bytes) -> _Error:
    try:
        said: object = msgspec.json.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        text = body[:_MOST_WORDS].decode(errors="replace")
        return _Error("" if "<" in text else _short(text), body[:10_000].decode(errors="replace"), None)
    error = said.get("error", said) if isinstance(said, dict) else said
    if not isinstance(error, dict):
        return _Error(_short(error if isinstance(error, str) else ""), str(error)[:10_000], None)
    code, message = error.get("code"), error.get("message", error.get("detail"))
    status = code if isinstance(code, int) and 400 <= code < 600 else None
    words = _short(message if isinstance(message, str) else "")
    return _Error(words, " ".join(f"{error.get(key)}" for key in ("code", "type", "message", "detail")), status)


def _short(text: str) -> str:
    line = "".join(char if char.isprintable() else " " for char in text)
    line = " ".join(line.split())
    return line if len(line) <= _MOST_WORDS else f"{line[:_MOST_WORDS]} …"


def limit_until(headers: dict[str, str], *, now_ms: int) -> int | None:
    """Return when a limit ends: what Retry-After says, else the last reset of what is used up, else of anything."""
    direct = retry_after(headers, now_ms=now_ms)
    if direct is not None:
        return direct
    resets: dict[bool, list[int]] = {True: [], False: []}
    for name, value in headers.items():
        at_ms = _moment(value, now_ms=now_ms) if _RESET.fullmatch(name) else None
        if at_ms is not None:
            resets[headers.get(name.replace("reset", "remaining"), "").strip() == "0"].append(at_ms)
    return max(resets[True] or resets[False], default=None)


def retry_after(headers: dict[str, str], *, now_ms: int) -> int | None:
    """Return when the server wants to be asked again; None if it does not say."""
    if "retry-after-ms" in headers:
        return _moment(headers["retry-after-ms"].strip() + "ms", now_ms=now_ms)
    return _moment(headers.get("retry-after", ""), now_ms=now_ms)


def _moment(text: str, *, now_ms: int) -> int | None:
    """Read a time: seconds from now or since 1970, a span as 1m30s, or a date; None if it is none of these."""
    text = text.strip()
    at_ms = _of_number(text, now_ms=now_ms) if re.fullmatch(r"\d{1,15}(\.\d{1,9})?", text) else _of_words(text, now_ms)
    return None if at_ms is None or at_ms - now_ms > _FURTHEST_MS else max(at_ms, now_ms)


def _of_number(text: str, *, now_ms: int) -> int:
    number = float(text)
    if number > 1e11:
        return int(number)
    return int(number * 1000) if number > 1e9 else now_ms + round(number * 1000)


def _of_words(text: str, now_ms: int) -> int | None:
    span = _SPAN.fullmatch(text)
    if span and text:
        seconds = sum(float(given) * unit for given, unit in zip(span.groups(), _SPAN_UNITS_S, strict=True) if given)
        return now_ms + round(seconds * 1000)
    try:
        return round(datetime.fromisoformat(text).timestamp() * 1000)
    except ValueError:
        pass
    try:
        return round(parsedate_to_datetime(text).timestamp() * 1000)
    except (ValueError, OverflowError):
        return None
