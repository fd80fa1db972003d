"""Plans made of others' tables: files in, one JSON plan out, and what else is worth knowing of where they came from.

Knows which files hold which tables, and compares what was recorded there with what is planned here. Must not print.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from budwood._core.graph import batches, build
from budwood._core.model import TaskId
from budwood.errors import PlanError
from budwood.formats.csv_tables import read_csv
from budwood.formats.pg_dump import read_dump
from budwood.formats.rows import Row
from budwood.formats.yokeflow_tables import TABLES, Batch, Project, Worktree, take_project
from budwood.plans.explain import not_json
from budwood.plans.plan import Plan
from budwood.plans.read import parse_plan
from budwood.settings.files import decoded, read_bytes

_CUSTOM = b"PGDMP"
_SHOWN = 10
_BRANCHES = {
    "merged": "is merged there",
    "conflict": "has a conflict there",
    "abandoned": "was given up there",
    "cleanup": "was removed there",
}
_ELSEWHERE = "what is only on it is not in what tasks start with: merge it first"


@dataclass(frozen=True, slots=True)
class Imported:
    """A plan, as it would be written and as it is read again."""

    raw: bytes
    plan: Plan
    notes: tuple[str, ...]


def import_plan(files: Sequence[Path], *, project: str | None = None) -> Imported:
    """Make a plan of a dump, or of tables as CSV or JSON, each in a file of its own name."""
    found: dict[str, list[Row]] = {}
    for file in files:
        for table, rows in _rows_of(file).items():
            found.setdefault(table, []).extend(rows)
    path = ", ".join(map(str, files))
    taken = take_project(found, wanted=project, path=path)
    raw = msgspec.json.format(msgspec.json.encode(taken.plan), indent=2) + b"\n"
    plan = parse_plan(raw, path=path, notation="json")
    return Imported(raw, plan, (*plan.left_out, *_notes(taken, plan)))


def _rows_of(file: Path) -> dict[str, list[Row]]:
    raw, path = read_bytes(file, error=PlanError), str(file)
    match file.suffix.casefold():
        case ".json":
            return _json_rows(raw, path=path)
        case ".csv":
            table = file.stem.rpartition(".")[2]
            if table not in TABLES:
                raise PlanError(f"{path} is called after none of the tables", hint=f"they are {', '.join(TABLES)}")
            return {table: read_csv(decoded(raw, path=path, error=PlanError), table=table, path=path)}
    if raw.startswith(_CUSTOM):
        raise PlanError(
            f"{path} is a dump in PostgreSQL's own format", hint=f"pg_restore -f dump.sql {path} writes SQL"
        )
    return read_dump(decoded(raw, path=path, error=PlanError), path=path, tables=TABLES)


def _json_rows(raw: bytes, *, path: str) -> dict[str, list[Row]]:
    try:
        tables = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise not_json(raw, problem, path=path) from None
    if not isinstance(tables, dict):
        raise PlanError(
            f"{path} is no object of tables", hint='{"tasks": […], "epics": […]}; a list of tasks is a plan'
        )
    found: dict[str, list[Row]] = {}
    for table in TABLES:
        rows = tables.get(table, [])
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise PlanError(f"{table} in {path} is not a list of objects")
        found[table] = [Row(f"{path}: row {number}", table, row) for number, row in enumerate(rows, start=1)]
    return found


def _notes(taken: Project, plan: Plan) -> Iterator[str]:
    yield from map(_of_worktree, taken.worktrees)
    yield from _of_batches(taken)
    try:
        build(plan.tasks, plan.lanes)
    except PlanError as problem:
        yield f"it cannot run yet: {problem.message}; {problem.hint}"


def _of_worktree(worktree: Worktree) -> str:
    state = _BRANCHES.get(worktree.state, f"is not merged there ({worktree.state or 'no state'})")
    if worktree.state == "merged":
        return f"branch {worktree.branch} {state}" + (f": {worktree.merge_commit}" if worktree.merge_commit else "")
    return f"branch {worktree.branch} {state}; {_ELSEWHERE}"


def _of_batches(taken: Project) -> Iterator[str]:
    """Compare the batches that were recorded there with ours, of all tasks, whether they are done or not."""
    if not taken.batches:
        return
    everything = dict(taken.plan)
    tasks = msgspec.convert(everything["tasks"], list[dict[str, object]])
    everything["tasks"] = [{key: value for key, value in task.items() if key != "done"} for task in tasks]
    plan = parse_plan(msgspec.json.encode(everything), path="the dump", notation="json")
    try:
        graph = build(plan.tasks, plan.lanes)
    except PlanError as problem:
        yield f"batches cannot be compared: {problem.message}"
        return
    ours = {number: [graph.ids[task] for task in batch] for number, batch in enumerate(batches(graph), start=1)}
    theirs = {batch.number: batch.tasks for batch in taken.batches}
    differ = [n for n in sorted(ours.keys() | theirs.keys()) if _set(ours.get(n)) != _set(theirs.get(n))]
    yield from (_difference(number, theirs.get(number), ours.get(number)) for number in differ[:_SHOWN])
    if len(differ) > _SHOWN:
        yield f"{len(differ) - _SHOWN} more batches differ"
    if not differ:
        yield f"its {len(theirs)} batches are the same here"
    yield from (_under_way(batch) for batch in taken.batches if batch.is_running)


def _set(tasks: Sequence[TaskId] | None) -> set[str]:
    return set(map(str, tasks or ()))


def _difference(number: int, theirs: Sequence[TaskId] | None, ours: Sequence[TaskId] | None) -> str:
    there, here = (", ".join(map(str, tasks)) if tasks else "nothing" for tasks in (theirs, ours))
    return f"batch {number} is {there} there and {here} here"


def _under_way(batch: Batch) -> str:
    return f"batch {batch.number} is running there: end that before these tasks are run here"
