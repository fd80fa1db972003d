"""Plans of YokeFlow: a JSON list of tasks, or an object with `tasks` and `epics`.

Knows that format and the names of our keys. Must not check what our own reader checks anyway (ids, cycles, types).
"""

from collections.abc import Mapping, Sequence

from budwood._core.suggest import did_you_mean
from budwood.errors import PlanError
from budwood.formats.aliases import YOKEFLOW_EPIC, YOKEFLOW_TASK, YOKEFLOW_TOP, Alias

Tables = dict[str, object]
_OWN_JSON = 'budwood\'s own JSON is {"run": {…}, "lane": […], "task": [{"id": …, "run": …, "after": […]}]}'


def is_yokeflow(raw: object) -> bool:
    """Say whether parsed JSON is of this format and not of ours."""
    return isinstance(raw, list) or (
        isinstance(raw, Mapping) and "task" not in raw and ("tasks" in raw or "epics" in raw)
    )


def to_tables(raw: object, *, path: str) -> Tables:
    """Give it the shape of our own plan file: run, lane, task."""
    top: Mapping[str, object] = raw if isinstance(raw, Mapping) else {"tasks": raw}
    _refuse_unknown(top, YOKEFLOW_TOP, where=path)
    tasks = [_task(given, where=_named(given, "task", number, path)) for number, given in _listed(top, "tasks", path)]
    lanes = [_lane(given, where=_named(given, "epic", number, path)) for number, given in _listed(top, "epics", path)]
    if "epics" not in top:
        lanes = [{"id": name} for name in dict.fromkeys(task["lane"] for task in tasks if "lane" in task)]
    return {"task": tasks, "lane": lanes}


def _listed(top: Mapping[str, object], key: str, path: str) -> list[tuple[int, Mapping[str, object]]]:
    given = top.get(key, [])
    if not isinstance(given, list) or not all(isinstance(entry, Mapping) for entry in given):
        raise PlanError(f"{key} in {path} is not a list of objects", hint=_OWN_JSON)
    return list(enumerate(given, start=1))


def _named(given: Mapping[str, object], what: str, number: int, path: str) -> str:
    return f"{what} {str(given['id'])!r} of {path}" if "id" in given else f"{what} number {number} of {path}"


def _task(given: Mapping[str, object], *, where: str) -> Tables:
    _refuse_unknown(given, YOKEFLOW_TASK, where=where)
    table = _renamed(given, YOKEFLOW_TASK)
    kind = table.pop("prefer_after", "hard")
    if kind not in ("hard", "soft"):
        raise PlanError(f'dependency_type in {where} is {kind!r}; it takes "hard" or "soft"')
    if kind == "soft" and "after" in table:
        table["prefer_after"] = table.pop("after")
    return table


def _lane(given: Mapping[str, object], *, where: str) -> Tables:
    _refuse_unknown(given, YOKEFLOW_EPIC, where=where)
    table = _renamed(given, YOKEFLOW_EPIC)
    both = [given[key] for key in ("depends_on", "depends_on_epics") if given.get(key)]
    if len(both) == 2 and both[0] != both[1]:
        raise PlanError(f"depends_on and depends_on_epics in {where} differ", hint="keep one of them")
    return table | ({"after": both[0]} if both else {})


def _renamed(given: Mapping[str, object], aliases: Sequence[Alias]) -> Tables:
    return {row.ours: given[row.theirs] for row in aliases if row.ours and given.get(row.theirs) is not None}


def _refuse_unknown(given: Mapping[str, object], aliases: Sequence[Alias], *, where: str) -> None:
    names = [row.theirs for row in aliases]
    for key in given:
        if key not in names:
            raise PlanError(f"unknown key {key!r} in {where}", hint=did_you_mean(key, names) or _OWN_JSON)
