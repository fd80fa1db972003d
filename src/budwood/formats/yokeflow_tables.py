"""The tables of YokeFlow's database: one project's tasks, and what else they tell of it.

Knows its tables and columns. Must not know where the rows were read, or our keys: what it makes is the JSON that
`yokeflow` reads.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from budwood._core.cycles import by_id
from budwood._core.model import TaskId
from budwood._core.suggest import did_you_mean
from budwood.errors import NoSuchId, PlanError, UsageError
from budwood.formats.rows import Row

TABLES = ("projects", "epics", "tasks", "task_dependencies", "parallel_batches", "worktrees")
_EPIC_AFTER = ("depends_on", "depends_on_epics")
_NEEDED = ("depends_on_task_id", "depends_on_id", "depends_on")
"""What the column of task_dependencies is called that names the other task."""

Found = Mapping[str, Sequence[Row]]


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch as it was recorded there."""

    number: int
    tasks: list[TaskId]
    is_running: bool


@dataclass(frozen=True, slots=True)
class Worktree:
    """What became of an epic's branch there."""

    epic: TaskId
    branch: str
    state: str
    merge_commit: str


@dataclass(frozen=True, slots=True)
class Project:
    """All that was found of one project."""

    name: str
    plan: dict[str, object]
    """As JSON: epics, tasks, and task_dependencies if there are any."""
    batches: list[Batch]
    worktrees: list[Worktree]


def take_project(found: Found, *, wanted: str | None, path: str) -> Project:
    """Take the tasks of one project; where there are several, it must be named, by name or id."""
    if not found.get("tasks"):
        raise PlanError(
            f"{path} has no rows of a table tasks", hint="pg_dump --table=tasks --table=epics DATABASE > dump.sql"
        )
    chosen, name = _chosen(found, wanted, path=path)
    ours = {
        table: [row for row in rows if chosen is None or row.cells.get("project_id") in (None, chosen)]
        for table, rows in found.items()
    }
    if not ours["tasks"]:
        raise PlanError(f"project {name} of {path} has no tasks")
    worktrees = [_worktree(row) for row in ours.get("worktrees", ())]
    epics = [_epic(row) for row in ours.get("epics", ())] or list(_epics_of(ours["tasks"], worktrees))
    # The order of rows in a dump is that of their last change.
    tasks = [_task(row) for row in sorted(ours["tasks"], key=lambda row: by_id(_id(row)))]
    plan: dict[str, object] = {"project": name, "epics": epics, "tasks": tasks}
    ids = {str(task["id"]) for task in tasks}
    edges = [_edge(row) for row in found.get("task_dependencies", ()) if row.text("task_id") in ids]
    if edges:
        plan["task_dependencies"] = edges
    return Project(name, plan, [_batch(row) for row in ours.get("parallel_batches", ())], worktrees)


def _chosen(found: Found, wanted: str | None, *, path: str) -> tuple[object, str]:
    """Return the id of the project (None if rows do not say) and its name."""
    names = {row.text("id"): row.text("name") for row in found.get("projects", ())}
    with_tasks = dict.fromkeys(row.text("project_id") for row in found["tasks"])
    if wanted is None:
        if len(with_tasks) > 1:
            listed = ", ".join(names.get(each) or each for each in with_tasks)
            raise UsageError(
                f"{path} has tasks of {len(with_tasks)} projects: {listed}", hint="--project NAME takes one"
            )
        [only] = with_tasks
        return only or None, names.get(only) or only
    for each in dict.fromkeys((*names, *with_tasks)):
        if wanted in (each, names.get(each)):
            return each, names.get(each) or each
    known = [names.get(each) or each for each in with_tasks]
    raise NoSuchId(
        f"there is no project {wanted!r} in {path}",
        hint=did_you_mean(wanted, known) or f"it has {', '.join(filter(None, known)) or 'one without a name'}",
    )


def _task(row: Row) -> dict[str, object]:
    return _said(
        id=_id(row),
        epic_id=row.name("epic_id"),
        description=row.text("description"),
        action=row.text("action"),
        depends_on=row.names("depends_on"),
        dependency_type=row.text("dependency_type"),
        priority=row.whole("priority"),
        done=row.truth("done"),
    )


def _epic(row: Row) -> dict[str, object]:
    after = dict.fromkeys(name for column in _EPIC_AFTER for name in row.names(column))
    return _said(id=_id(row), name=row.text("name"), depends_on=list(after))


def _epics_of(tasks: Sequence[Row], worktrees: Sequence[Worktree]) -> Iterator[dict[str, object]]:
    """Make epics of those that tasks name; how a branch is called tells what its epic is called."""
    named = {each.epic: each.branch.removeprefix(f"epic-{each.epic}-") for each in worktrees}
    for epic in dict.fromkeys(row.name("epic_id") for row in tasks):
        if epic is not None:
            yield _said(id=epic, name=named.get(epic, ""))


def _edge(row: Row) -> dict[str, object]:
    other = next((found for column in _NEEDED if (found := row.name(column)) is not None), None)
    if other is None:
        raise row.unfit(_NEEDED[0], "the id of a task")
    kind = row.text("dependency_type") or "hard"
    return {"task_id": row.name("task_id"), "depends_on": other, "dependency_type": kind}


def _batch(row: Row) -> Batch:
    number = row.whole("batch_number")
    if number is None:
        raise row.unfit("batch_number", "a whole number")
    return Batch(number, row.names("task_ids"), row.text("status") == "running")


def _worktree(row: Row) -> Worktree:
    epic = row.name("epic_id")
    if epic is None:
        raise row.unfit("epic_id", "the id of an epic")
    return Worktree(epic, row.text("branch_name"), row.text("status"), row.text("merge_commit"))


def _id(row: Row) -> TaskId:
    found = row.name("id")
    if found is None:
        raise row.unfit("id", "an id")
    return found


def _said(**cells: object) -> dict[str, object]:
    """Leave out what says nothing; 0 says something."""
    return {name: value for name, value in cells.items() if value or (value == 0 and value is not False)}
