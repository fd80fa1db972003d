"""What is wrong with a plan file, in its writer's words.

Knows msgspec's messages and the tables of keys. It is only asked when decoding has failed, so it may take its time.
"""

import re
from collections.abc import Mapping

import msgspec

from budwood._core.suggest import did_you_mean
from budwood.errors import PlanError
from budwood.plans.keys import LANE_KEYS, TASK_KEYS, PlanKey
from budwood.plans.specs import unfit
from budwood.settings import KEYS
from budwood.settings.agents import is_table_setting
from budwood.settings.files import decoded

_PLACE = re.compile(r" - at `\$(?:\.(?P<table>\w+))?(?:\[(?P<index>\d+)\])?(?:\.(?P<key>\w+))?.*`$")
_UNKNOWN = re.compile(r"unknown field `(.*?)`")
_BYTE = re.compile(r"\(byte (\d+)\)")
_TABLES = ("run", "lane", "task")
_TABLE_OF: dict[str, dict[str, PlanKey]] = {"task": TASK_KEYS, "lane": LANE_KEYS}


def not_json(raw: bytes, problem: Exception, *, path: str) -> PlanError:
    """Say where text stops being JSON."""
    decoded(raw, path=path, error=PlanError)
    told = str(problem)
    byte = _BYTE.search(told)
    end = int(byte[1]) if byte else len(raw.rstrip())
    before = raw[:end].decode("utf-8", "replace")
    line, column = before.count("\n") + 1, end - raw.rfind(b"\n", 0, end)
    what = _BYTE.sub("", told).removeprefix("JSON is malformed: ").strip()
    return PlanError(f"{path}:{line}:{column}: not JSON: {what[:1].lower()}{what[1:]}", hint="nothing was started")


def explain(tables: object, problem: msgspec.ValidationError, *, path: str) -> PlanError:
    """Turn a failed decoding into an error that names task, key and value."""
    told = str(problem)
    place = _PLACE.search(told)
    table, index, key = (place["table"], place["index"], place["key"]) if place else (None, None, None)
    if not isinstance(tables, Mapping):
        return PlanError(f"{path} is not a plan: it has no tables", hint="a plan has [run], [[lane]] and [[task]]")
    if table is None:
        return _unknown_table(told, path=path)
    if index is None or table == "run":
        return _not_a_list(table, tables.get(table), path=path)
    entry: object = tables[table][int(index)]
    if not isinstance(entry, Mapping):
        return PlanError(f"{table} number {int(index) + 1} in {path} is {entry!r}; it takes a table")
    owner = _owner(entry, int(index))
    if key is None:
        return _keys_wrong(told, table, owner=owner, path=path)
    return _value_wrong(entry[key], key, table=table, owner=owner, path=path)


def _owner(entry: Mapping[str, object], index: int) -> str:
    name = entry.get("id")
    return repr(str(name)) if isinstance(name, str | int) and not isinstance(name, bool) else f"number {index + 1}"


def _unknown_table(told: str, *, path: str) -> PlanError:
    unknown = _UNKNOWN.search(told)
    name = unknown[1] if unknown else ""
    if name in KEYS:
        hint = f"it belongs into [{KEYS[name].table}]"
    elif name in TASK_KEYS:
        hint = "it belongs into [[task]]"
    elif is_table_setting(name):
        hint = "it belongs into budwood.toml, or into your own settings file"
    else:
        hint = did_you_mean(name, _TABLES) or "a plan has [run], [[lane]] and [[task]]"
    return PlanError(f"unknown key {name!r} in {path}", hint=hint)


def _not_a_list(table: str, value: object, *, path: str) -> PlanError:
    if table == "run":
        return PlanError(
            f"run in {path} is {value!r}; it takes a table", hint="write [run]; a command stands in a [[task]]"
        )
    hint = f"write [[{table}]] with two brackets" if isinstance(value, Mapping) else f"write [[{table}]]"
    return PlanError(f"{table} in {path} is not a list of tables", hint=hint)


def _keys_wrong(told: str, table: str, *, owner: str, path: str) -> PlanError:
    unknown = _UNKNOWN.search(told)
    if unknown is None:
        return PlanError(f"{table} {owner} of {path} has no id", hint=f'add id = "…": every {table} needs one')
    name = unknown[1]
    if table == "lane" and name in TASK_KEYS:
        hint: str | None = "it belongs into [[task]]"
    elif name in KEYS and name not in TASK_KEYS:
        hint = f"it belongs into [{KEYS[name].table}]"
    else:
        known = _TABLE_OF[table]
        hint = did_you_mean(name, known) or f"a {table} has: {', '.join(known)}"
    return PlanError(f"unknown key {name!r} in {table} {owner} of {path}", hint=hint)


def _value_wrong(value: object, key: str, *, table: str, owner: str, path: str) -> PlanError:
    hint: str | None = None
    if key == "env" and isinstance(value, Mapping):
        name, wrong = next(((n, v) for n, v in value.items() if not isinstance(v, str)), ("", ""))
        text = "" if wrong is None else str(wrong).lower() if isinstance(wrong, bool) else str(wrong)
        return PlanError(
            f"env of {table} {owner} in {path} sets {name} to {wrong!r}, which is not text",
            hint=f'write {name} = "{text}"',
        )
    if key in ("after", "prefer_after", "env_pass") and isinstance(value, str | int):
        hint = f'write {key} = ["{value}"]' if isinstance(value, str) else f"write {key} = [{value}]"
    return unfit(key, value, what=table, owner=owner, path=path, hint=hint)
