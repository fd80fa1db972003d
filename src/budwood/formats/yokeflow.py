"""Plans of YokeFlow: a JSON list of tasks, or an object with `tasks` and `epics`.

Knows that format and the names of our keys. Must not check what our own reader checks anyway (ids, cycles, types).
"""

from collections.abc import Mapping, Sequence

from budwood._core.suggest import did_you_mean
from budwood.errors import PlanError
from budwood.formats.aliases import YOKEFLOW_DEPENDENCY, YOKEFLOW_EPIC, YOKEFLOW_TASK, YOKEFLOW_TOP, Alias

Tables = dict[str, object]
_SHOWN = 10
_OWN_JSON = 'budwood\'s own JSON is {"run": {…}, "lane": […], "task": [{"id": …, "run": …, "after": […]}]}'


def is_yokeflow(raw: object) -> bool:
    """Say whether parsed JSON is of this format and not of ours."""
    return isinstance(raw, list) or (
        isinstance(raw, Mapping) and "task" not in raw and ("tasks" in raw or "epics" in raw)
    )


def to_tables(raw: object, *, path: str) -> tuple[Tables, tuple[str, ...]]:
    """Give it the shape of our own plan file: run, lane, task; also say in words what is left out."""
    top: Mapping[str, object] = raw if isinstance(raw, Mapping) else {"tasks": raw}
    _refuse_unknown(top, YOKEFLOW_TOP, where=path)
    given = [(entry, _named(entry, "task", number, path)) for number, entry in _listed(top, "tasks", path)]
    tasks = [_task(entry, where=where) for entry, where in given]
    done = {str(entry["id"]) for entry, where in given if "id" in entry and _is_done(entry, where=where)}
    lanes = [_lane(entry, where=_named(entry, "epic", number, path)) for number, entry in _listed(top, "epics", path)]
    if "epics" not in top:
        lanes = [{"id": name} for name in dict.fromkeys(task["lane"] for task in tasks if "lane" in task)]
    _add_edges(tasks, top, path=path)
    if not done:
        return {"task": tasks, "lane": lanes}, ()
    if len(done) == len(tasks):
        raise PlanError(f"every task of {path} is done", hint='"done": false lets one be done again')
    return _without(tasks, lanes, done)


def _is_done(given: Mapping[str, object], *, where: str) -> bool:
    value = given.get("done")
    if value is None or isinstance(value, bool):
        return bool(value)
    raise PlanError(f"done in {where} is {value!r}; it takes true or false")


def _add_edges(tasks: list[Tables], top: Mapping[str, object], *, path: str) -> None:
    """Give tasks what `task_dependencies` says of them."""
    by_id = {str(task.get("id")): task for task in tasks}
    for number, entry in _listed(top, "task_dependencies", path):
        where = f"task_dependencies number {number} of {path}"
        _refuse_unknown(entry, YOKEFLOW_DEPENDENCY, where=where)
        edge = _hard_or_soft(_renamed(entry, YOKEFLOW_DEPENDENCY), where=where)
        task = by_id.get(str(edge.get("id")))
        if task is None:
            raise PlanError(f"{where} is about task {str(edge.get('id'))!r}, but no task is called that")
        for key in edge.keys() & {"after", "prefer_after"}:
            before = task.get(key, [])
            # What is no list is refused with the task's name by whoever reads tasks.
            task[key] = [*before, edge[key]] if isinstance(before, list) else before


def _without(tasks: list[Tables], lanes: list[Tables], done: set[str]) -> tuple[Tables, tuple[str, ...]]:
    """Leave out what is done, and lanes of which nothing is left; who comes after them need not wait."""
    left = [task for task in tasks if str(task["id"]) not in done]
    emptied = {str(task.get("lane")) for task in tasks} - {str(task.get("lane")) for task in left}
    for task in left:
        _forget(task, done)
    open_lanes = [lane for lane in lanes if str(lane.get("id")) not in emptied]
    for lane in open_lanes:
        _forget(lane, emptied)
    names = [str(task["id"]) for task in tasks if str(task["id"]) in done]
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return {"task": left, "lane": open_lanes}, (f"{len(names)} done and left out: {', '.join(names[:_SHOWN])}{more}",)


def _forget(table: Tables, gone: set[str]) -> None:
    for key in ("after", "prefer_after"):
        given = table.get(key)
        if isinstance(given, list):
            table[key] = [name for name in given if str(name) not in gone]


def _listed(top: Mapping[str, object], key: str, path: str) -> list[tuple[int, Mapping[str, object]]]:
    given = top.get(key, [])
    if not isinstance(given, list) or not all(isinstance(entry, Mapping) for entry in given):
        raise PlanError(f"{key} in {path} is not a list of objects", hint=_OWN_JSON)
    return list(enumerate(given, start=1))


def _named(given: Mapping[str, object], what: str, number: int, path: str) -> str:
    return f"{what} {str(given['id'])!r} of {path}" if "id" in given else f"{what} number {number} of {path}"


def _task(given: Mapping[str, object], *, where: str) -> Tables:
    _refuse_unknown(given, YOKEFLOW_TASK, where=where)
    table = _hard_or_soft(_renamed(given, YOKEFLOW_TASK), where=where)
    priority = table.get("priority")
    if isinstance(priority, int):
        table["priority"] = -priority
    return table


def _hard_or_soft(table: Tables, *, where: str) -> Tables:
    """Put what a table comes after where its type of dependency belongs."""
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
