"""TOML files: text in, tables out, and errors that say where.

Knows TOML and the tables of a settings file. Must not know which files there are: their paths are given.
"""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path

from budwood._core.suggest import did_you_mean
from budwood.errors import SettingsError, UsageError
from budwood.settings.agents import AGENTS, MODEL_RULE, PRICES, read_tables
from budwood.settings.keys import KEYS
from budwood.settings.layers import Layer, read_value

_PLACE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")
_OF_AGENTS = (AGENTS, PRICES, MODEL_RULE)
_TABLES = ("run", "machine", *_OF_AGENTS)


def read_settings(path: Path) -> Layer:
    """Read budwood.toml or the user's file.

    [run] holds what runs default to, [machine] what concerns all of them, and three tables are about agents.
    """
    shown = str(path)
    tables = parse_toml(read_bytes(path, error=SettingsError), path=shown, error=SettingsError)
    given: dict[str, object] = {}
    for table, entries in tables.items():
        if table not in _TABLES:
            raise SettingsError(f"unknown key {table!r} in {shown}", hint=_table_hint(table, entries))
        if table in _OF_AGENTS:
            given |= read_tables(table, entries, path=shown)
            continue
        if not isinstance(entries, Mapping):
            raise SettingsError(f"{table} in {shown} is {entries!r}; it takes a table: [{table}]")
        for name, raw in entries.items():
            key = KEYS.get(name)
            if key is None:
                raise SettingsError(
                    f"unknown key {name!r} in [{table}] of {shown}",
                    hint=did_you_mean(name, KEYS) or "budwood config show lists every key",
                )
            if key.table != table:
                raise SettingsError(f"{name} stands in [{table}] of {shown}", hint=f"it belongs into [{key.table}]")
            read_value(key, raw, origin=shown)
            given[name] = raw
    return shown, given


def _table_hint(name: str, given: object) -> str:
    near = did_you_mean(name, _TABLES) if isinstance(given, Mapping) else None
    if name in KEYS and near is None:
        return f"it belongs into [{KEYS[name].table}]"
    if name in ("task", "lane"):
        return "tasks and lanes stand in a plan file; this one holds settings"
    return (
        near
        or did_you_mean(name, _TABLES)
        or "a settings file has the tables [run], [machine], [agents.NAME], [prices] and [[model_rule]]"
    )


def read_bytes(path: Path, *, error: type[UsageError]) -> bytes:
    """Read a file whole; one that is missing or cannot be read is named, with the nearest name beside it."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        beside = [entry.name for entry in path.parent.iterdir()] if path.parent.is_dir() else []
        hint = (
            did_you_mean(path.name, sorted(beside)) or "check the path; a relative one begins at the current directory"
        )
        raise error(f"there is no file {path}", hint=hint) from None
    except IsADirectoryError:
        raise error(f"{path} is a directory, not a file") from None
    except OSError as problem:
        raise error(f"{path} cannot be read: {problem.strerror}") from problem


def parse_toml(raw: bytes, *, path: str, error: type[UsageError]) -> dict[str, object]:
    """Parse TOML; what is none is refused with line and column. A byte order mark and CRLF are fine."""
    try:
        return tomllib.loads(decoded(raw, path=path, error=error))
    except tomllib.TOMLDecodeError as problem:
        told = str(problem)
        place = _PLACE.search(told)
        text = told[: place.start()] if place else told
        line, column = (place[1], place[2]) if place and place[1] else _end(raw)
        raise error(
            f"{path}:{line}:{column}: not TOML: {text[:1].lower()}{text[1:]}",
            hint="text needs quotes, tables are [run] and [[task]]; nothing was started",
        ) from None
    except RecursionError:
        raise error(f"{path}: nested too deeply") from None


def _end(raw: bytes) -> tuple[int, int]:
    lines = raw.decode("utf-8-sig").rstrip().splitlines() or [""]
    return len(lines), len(lines[-1]) + 1


def decoded(raw: bytes, *, path: str, error: type[UsageError]) -> str:
    """Decode UTF-8, with or without a byte order mark; other bytes are refused with their line."""
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = raw[: problem.start].count(b"\n") + 1
        raise error(f"{path}:{line}: not UTF-8 text", hint="save the file as UTF-8") from None
