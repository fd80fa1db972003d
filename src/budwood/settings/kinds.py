"""What a value may look like: whole numbers, durations, sizes, lists, tables.

Knows values. Must not know which key they belong to or where they were written: whoever asks adds that to the error.
A kind reads what TOML, JSON or a flag gives, and takes apart the text of an environment variable.
"""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import msgspec

from budwood._core.plain import is_plain
from budwood.settings.addresses import can_be_posted_to, is_address, shown

_MAX_INT = 2**63 - 1
"""JSON readers and databases hold no more."""

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION_PART = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)\s*")
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]*)", re.IGNORECASE)
_HOST = re.compile(
    r"(?:(?:\*\.)?[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?|\[[0-9a-f:.]+\])(?::[1-9][0-9]{0,4})?|[0-9a-f]*:[0-9a-f:.]+", re.I
)
"""A name, everything below a name, or an address; and a port."""
_BYTES = {"": 1, "b": 1} | {
    unit: factor
    for power, letter in enumerate("kmgt", start=1)
    for unit, factor in ((f"{letter}b", 1000**power), (f"{letter}ib", 1024**power), (letter, 1024**power))
}


class Unfit(ValueError):
    """The value is not of this kind; its text, if it has any, says what of it is not."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of value: `wants` completes the sentence "it takes …", and `quote` "it is …" of one that is refused."""

    wants: str
    read: Callable[[object], object]
    from_text: Callable[[str], object] = str
    quote: Callable[[object], str] = repr


def whole(low: int, *, high: int = _MAX_INT) -> Kind:
    """Take whole numbers between two bounds, both allowed."""

    def read(given: object) -> object:
        if isinstance(given, bool) or not isinstance(given, int) or not low <= given <= high:
            raise Unfit
        return given

    bounds = f", {low} or more" if high == _MAX_INT else f" from {low} to {high}"
    return Kind(f"a whole number{bounds}", read, _number_from_text)


def number(*, above: float | None = None, least: float = 0.0) -> Kind:
    """Take numbers from `least` on, or above a bound that is itself refused."""

    def read(given: object) -> object:
        if isinstance(given, bool) or not isinstance(given, int | float) or not math.isfinite(given):
            raise Unfit
        if given < least or (above is not None and given <= above):
            raise Unfit
        return float(given)

    return Kind(
        f"a number above {above:g}" if above is not None else f"a number, {least:g} or more", read, _number_from_text
    )


def choice(*names: str) -> Kind:
    """Take one of a few words."""

    def read(given: object) -> object:
        if given not in names:
            raise Unfit
        return given

    return Kind(" or ".join(f'"{name}"' for name in names), read)


def seconds(given: object) -> float:
    """Read a duration: a number of seconds, or text such as "90s", "10m", "1h30m"; always more than nothing."""
    if isinstance(given, str):
        parts, end = [], 0
        while match := _DURATION_PART.match(given, end):
            parts.append(float(match[1]) * _SECONDS[match[2]])
            end = match.end()
        total = sum(parts) if parts and end == len(given) else _plain_number(given)
    elif isinstance(given, int | float) and not isinstance(given, bool):
        total = float(given)
    else:
        raise Unfit
    if not math.isfinite(total) or total <= 0:
        raise Unfit
    return total


def bytes_of(given: object) -> int:
    """Read a size: a number of bytes, or text such as "512MB" (a thousand each) or "2GiB" (1024 each)."""
    if isinstance(given, str):
        match = _SIZE.fullmatch(given.strip())
        if match is None or match[2].casefold() not in _BYTES:
            raise Unfit
        total = float(match[1]) * _BYTES[match[2].casefold()]
    elif isinstance(given, int) and not isinstance(given, bool):
        total = given
    else:
        raise Unfit
    if not 1 <= total <= _MAX_INT:
        raise Unfit
    return int(total)


def _plain_number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise Unfit from None


def _number_from_text(text: str) -> object:
    try:
        return int(text)
    except ValueError:
        return _plain_number(text)


def _read_text(given: object) -> object:
    if not isinstance(given, str) or "\0" in given:
        raise Unfit
    return given


def _read_some_text(given: object) -> object:
    if not str(_read_text(given)).strip():
        raise Unfit
    return given


def _read_command_or_address(given: object) -> object:
    text = str(_read_some_text(given))
    if is_address(text) and not can_be_posted_to(text):
        raise Unfit
    return given


def _quote_command_or_address(given: object) -> str:
    return repr(shown(given) if isinstance(given, str) and is_address(given) else given)


def _read_flag(given: object) -> object:
    if not isinstance(given, bool):
        raise Unfit
    return given


def _flag_from_text(text: str) -> object:
    return {
        "1": True,
        "true": True,
        "yes": True,
        "on": True,
        "0": False,
        "false": False,
        "no": False,
        "off": False,
    }.get(text.strip().casefold(), text)


def _read_variable_names(given: object) -> object:
    if not isinstance(given, list | tuple) or not all(_is_variable(name) for name in given):
        raise Unfit
    return tuple(given)


def _is_variable(name: object) -> bool:
    return isinstance(name, str) and name != "" and "=" not in name and "\0" not in name


def _read_variable_name(given: object) -> object:
    if not _is_variable(given):
        raise Unfit
    return given


def _read_words(given: object) -> object:
    if not isinstance(given, list | tuple):
        raise Unfit
    return tuple(_read_text(word) for word in given)


def _read_some_words(given: object) -> object:
    words = _read_words(given)
    if not words:
        raise Unfit
    return words


def _read_address(given: object) -> object:
    if not (isinstance(given, str) and can_be_posted_to(given)):
        raise Unfit
    return given


def _read_expression(given: object) -> object:
    try:
        re.compile(str(_read_some_text(given)))
    except re.error:
        raise Unfit from None
    return given


def _up_to_a_day(given: object) -> float:
    total = seconds(given)
    if total > _SECONDS["d"]:
        raise Unfit
    return total


def _list_from_text(text: str) -> object:
    return [part.strip() for part in text.split(",") if part.strip()]


def _pairs_from_text(text: str) -> dict[str, str]:
    pairs = [part.partition("=") for part in text.split(",") if part.strip()]
    if not all(sign for _, sign, _ in pairs):
        raise Unfit
    return {name.strip(): value.strip() for name, _, value in pairs}


def _read_variables(given: object) -> object:
    if not isinstance(given, Mapping) or not all(_is_variable(name) for name in given):
        raise Unfit
    return {name: _read_text(value) for name, value in given.items()}


def _read_limits(given: object) -> object:
    if not isinstance(given, Mapping):
        raise Unfit
    return {str(_read_some_text(name)): whole(1).read(limit) for name, limit in given.items()}


def _limits_from_text(text: str) -> object:
    return {name: _number_from_text(limit) for name, limit in _pairs_from_text(text).items()}


def _read_table(given: object) -> object:
    if not isinstance(given, dict) or not is_plain(given):
        raise Unfit
    return given


def _table_from_text(text: str) -> object:
    try:
        found: object = msgspec.json.decode(text)
    except msgspec.MsgspecError:
        raise Unfit from None
    return found


def command_or_table(text: str) -> object:
    """Take text for a command, unless it is a table, as JSON."""
    return _table_from_text(text) if text.lstrip().startswith("{") else text


def _read_paths(given: object) -> object:
    if not isinstance(given, list | tuple):
        raise Unfit
    return tuple(str(_read_some_text(path)) for path in given)


def _read_names(given: object) -> object:
    names = _read_paths([given] if isinstance(given, str) else given)
    assert isinstance(names, tuple)
    if not names or len(set(names)) < len(names):
        raise Unfit
    return names


def _read_network(given: object) -> object:
    if given in ("all", "none"):
        return given
    hosts = _read_names(given) if isinstance(given, list | tuple) else ()
    assert isinstance(hosts, tuple)
    if not hosts or not all(_HOST.fullmatch(host) for host in hosts):
        raise Unfit
    return hosts


def _network_from_text(text: str) -> object:
    return text.strip() if text.strip() in ("all", "none") else _list_from_text(text)


def _read_devices(given: object) -> object:
    if isinstance(given, list | tuple):
        names = tuple(str(name) for name in given)
        if any(isinstance(name, bool) or not isinstance(name, int | str) for name in given) or "" in names:
            raise Unfit
        if len(set(names)) < len(names):
            raise Unfit
        return names
    return whole(0, high=1024).read(given)


def _devices_from_text(text: str) -> object:
    return int(text) if text.strip().isdigit() else _list_from_text(text)


TEXT = Kind("text", _read_text)
SOME_TEXT = Kind("text that is not empty", _read_some_text)
COMMAND_OR_ADDRESS = Kind(
    "a shell command, or a web address: http:// or https:// with a host, and no password in it",
    _read_command_or_address,
    quote=_quote_command_or_address,
)
ADDRESS = Kind(
    "a web address: http:// or https:// with a host, and no password in it",
    _read_address,
    quote=_quote_command_or_address,
)
EXPRESSION = Kind("a regular expression, as Python has them", _read_expression)
FLAG = Kind("true or false", _read_flag, _flag_from_text)
DURATION = Kind('a duration above 0: "90s", "10m", "1h30m", or seconds as a number', seconds)
UP_TO_A_DAY = Kind('a duration above 0, at most a day: "90s", "10m", or seconds as a number', _up_to_a_day)
SIZE = Kind('a size above 0: "512MB", "2GiB", or bytes as a number', bytes_of)
VARIABLES = Kind('a table of text: { NAME = "value" }', _read_variables, _pairs_from_text)
VARIABLE_NAME = Kind("a variable's name", _read_variable_name)
VARIABLE_NAMES = Kind('a list of variable names: ["NAME", …]', _read_variable_names, _list_from_text)
PATHS = Kind('a list of paths: ["a", "b/c"]', _read_paths, _list_from_text)
NAMES = Kind('a name, or a list of names, each once: ["a", "b"]', _read_names, _list_from_text)
WORDS = Kind('a list of words, at least one: ["word", …]', _read_some_words, _list_from_text)
ANY_WORDS = Kind('a list of words: ["word", …]', _read_words, _list_from_text)
LIMITS = Kind("a table of whole numbers, 1 or more: { name = 2 }", _read_limits, _limits_from_text)
TABLE = Kind('a table of JSON values: { name = 2, names = ["a"] }', _read_table, _table_from_text)
NETWORK = Kind(
    '"all", "none", or a list of hosts, each once: ["example.org", "*.example.org", "example.org:8080"]',
    _read_network,
    _network_from_text,
)
DEVICES = Kind('how many, or a list of device ids: ["0", "3"], each once', _read_devices, _devices_from_text)
