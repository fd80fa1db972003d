"""When a limit ends, as programs say it: a moment, a time of day, or how long it takes.

Knows the forms in which that is written; must not know a clock: now, and the zone of times without one, are given.
"""

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, tzinfo
from email.utils import parsedate_to_datetime
from zoneinfo import ZoneInfo

_FARTHEST_MS = 400 * 86_400_000
"""What lies further ahead is no end of a limit but a number that was taken for one."""
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_UNITS_MS = {"ms": 1, "mi": 60_000, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}

_SIGNS = ("again", "retry", "reset", "available", "wait", "limit reached|")

_UNIT = r"(?:milliseconds?|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d|weeks?|w)(?![a-z])"
_AMOUNT = re.compile(rf"(\d{{1,9}}(?:\.\d{{1,12}})?)\s*({_UNIT})", re.I)
_LASTS = re.compile(
    r"(?:(?:try again|\bretry|\bresets?|\bavailable|\bwait)\s+(?:in|after|for)|retry-?_?(?:after|delay))"
    rf"[\s\"':=]*((?:\d{{1,9}}(?:\.\d{{1,12}})?\s*{_UNIT}[\s,]*(?:and\s+)?)+)",
    re.I,
)
_RETRY_AFTER = re.compile(r"retry-after[\s\"':=]+(\d{1,9})\b(?!\s*:)", re.I)
_RETRY_DATE = re.compile(r"retry-after[\s\"':=]+([a-z]{3}, \d{1,2} [a-z]{3} \d{4} \d\d:\d\d:\d\d GMT)", re.I)
_EPOCH = re.compile(r"(?:limit reached\||resets?_?at[\"']?\s*[:=]\s*)(\d{13}|\d{10})\b", re.I)
_STATED = re.compile(r"(?:try again|\bresets?|\bavailable(?: again)?|\bretry)(?:\s+(?:at|on|after))?[\s:]+", re.I)

_ISO = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d)?)(?:\.\d+)?\s*(Z\b|[+-]\d\d:?\d\d)?", re.I)
_DATE = re.compile(
    rf"(?:(?P<month>{'|'.join(_MONTHS)})[a-z]*\.?\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?:,?\s+(?P<year>\d{{4}})\b)?"
    rf"|(?P<weekday>{'|'.join(_DAYS)})[a-z]*\b)[\s,]*(?:at\s+)?",
    re.I,
)
_TIME = re.compile(r"(\d{1,2})(?::(\d\d))?(?::(\d\d))?\s*([ap])\.?m\b|(\d{1,2}):(\d\d)(?::(\d\d))?", re.I)
_ZONE = re.compile(r"\.?\s*(?:\(([A-Za-z][\w+-]*(?:/[\w+-]+)*)\)|(UTC|GMT|Z)\b)")


def reset_in(text: str, *, now_ms: int, zone: tzinfo) -> int | None:
    """Return the moment that a text states, as epoch milliseconds: the next such one after now, or None."""
    # The patterns are slow, and a program may print megabytes that have none of the words.
    low = text.lower()
    if not any(sign in low for sign in _SIGNS):
        return None
    for found in _moments(text, now_ms=now_ms, zone=zone):
        if found is not None and now_ms < found <= now_ms + _FARTHEST_MS:
            return found
    return None


def _moments(text: str, *, now_ms: int, zone: tzinfo) -> Iterator[int | None]:
    for match in _EPOCH.finditer(text):
        yield int(match[1]) * (1 if len(match[1]) == 13 else 1_000)
    for match in _LASTS.finditer(text):
        yield now_ms + round(sum(float(number) * _unit_ms(unit) for number, unit in _AMOUNT.findall(match[1])))
    for match in _RETRY_AFTER.finditer(text):
        yield now_ms + int(match[1]) * 1_000
    for match in _RETRY_DATE.finditer(text):
        yield _http_date(match[1])
    for match in _STATED.finditer(text):
        yield _stated(text, match.end(), now_ms=now_ms, zone=zone)


def _unit_ms(unit: str) -> int:
    unit = unit.lower()
    if unit.startswith("millis"):
        return 1
    return _UNITS_MS[unit[:2] if unit[:2] in _UNITS_MS else unit[:1]]


def _http_date(text: str) -> int | None:
    try:
        return _epoch_ms(parsedate_to_datetime(text))
    except ValueError:
        return None


def _stated(text: str, at: int, *, now_ms: int, zone: tzinfo) -> int | None:
    """Read the date, the time of day or both that begin here."""
    iso = _ISO.match(text, at)
    if iso is not None:
        return _iso(iso, zone=_zone_at(text, iso.end(), otherwise=zone))
    dated = _DATE.match(text, at)
    timed = _TIME.match(text, at if dated is None else dated.end())
    if dated is None and timed is None:
        return None
    clock = (0, 0, 0) if timed is None else _clock(timed)
    if clock is None:
        return None
    end = timed.end() if timed is not None else at
    zone = _zone_at(text, end, otherwise=zone)
    now = datetime.fromtimestamp(now_ms / 1_000, zone)
    for day in _days(dated, now.date()):
        for fold in (0, 1):
            # An hour that the clocks skip is moved on by what they skip; one that they repeat comes twice.
            moment = _epoch_ms(datetime(day.year, day.month, day.day, *clock, tzinfo=zone, fold=fold))
            if moment is not None and moment > now_ms:
                return moment
    return None


def _iso(match: re.Match[str], *, zone: tzinfo) -> int | None:
    try:
        moment = datetime.fromisoformat(f"{match[1]}T{match[2]}{(match[3] or '').upper()}")
    except ValueError:
        return None
    return _epoch_ms(moment if moment.tzinfo is not None else moment.replace(tzinfo=zone))


def _clock(match: re.Match[str]) -> tuple[int, int, int] | None:
    if match[4] is None:
        hour, minute, second = int(match[5]), int(match[6]), int(match[7] or 0)
    else:
        hour, minute, second = int(match[1]), int(match[2] or 0), int(match[3] or 0)
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if match[4].lower() == "p" else 0)
    return (hour, minute, second) if hour < 24 and minute < 60 and second < 60 else None


def _days(match: re.Match[str] | None, today: date) -> Iterator[date]:
    """Name the days that are meant, nearest first; without a year it is the next one that has such a day."""
    if match is None or match["weekday"] is not None:
        wanted = None if match is None else _DAYS.index(match["weekday"].lower())
        coming = (today + timedelta(days=ahead) for ahead in range(9))
        yield from (day for day in coming if wanted in (None, day.weekday()))
        return
    month, number = _MONTHS.index(match["month"].lower()) + 1, int(match["day"])
    years = range(today.year, today.year + 2) if match["year"] is None else (int(match["year"]),)
    for year in years:
        try:
            yield date(year, month, number)
        except ValueError:
            continue


def _zone_at(text: str, at: int, *, otherwise: tzinfo) -> tzinfo:
    """Return the zone that is named here; one that this machine does not know is taken for the given one."""
    match = _ZONE.match(text, at)
    if match is None:
        return otherwise
    if match[2] is not None:
        return UTC
    try:
        return ZoneInfo(match[1])
    except (OSError, ValueError, KeyError):
        return otherwise


def _epoch_ms(moment: datetime) -> int | None:
    try:
        return round(moment.timestamp() * 1_000)
    except (OverflowError, ValueError):
        return None
