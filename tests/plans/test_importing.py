"""Tables of YokeFlow become a plan: from real dumps of a real server, from CSV and from JSON."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.support.server import Server
from tests.support.yokeflow import ACTION, FORMS, OTHER, SHOP, as_csv, dumped, filled

from budwood._core.graph import batches, build
from budwood.errors import BudwoodError, NoSuchId, PlanError, UsageError
from budwood.plans import Plan, parse_plan
from budwood.plans.importing import Imported, import_plan

NOTES = (
    "2 done and left out: 1, 6",
    "branch epic-1-backend-infrastructure is not merged there (active); what is only on it is not in what tasks start "
    "with: merge it first",
    "branch epic-2-authentication has a conflict there; what is only on it is not in what tasks start with: "
    "merge it first",
    "branch epic-3-frontend is merged there: 0123456789abcdef",
    "its 4 batches are the same here",
    "batch 2 is running there: end that before these tasks are run here",
)


@pytest.fixture(scope="module")
def shop(postgres: Server) -> Iterator[str]:
    """A database with one project."""
    name = filled(postgres)
    yield name
    postgres.drop(name)


@pytest.fixture(scope="module")
def both(postgres: Server) -> Iterator[str]:
    """A database with two."""
    name = filled(postgres, others=True)
    yield name
    postgres.drop(name)


def check_shop(imported: Imported) -> None:
    """See that everything came over."""
    plan = imported.plan
    assert plan.format == "yokeflow"
    assert [(lane.id, lane.name) for lane in plan.lanes] == [
        (1, "Backend Infrastructure"),
        (2, "Authentication"),
        (3, "Frontend"),
    ]
    assert [task.id for task in plan.tasks] == [2, 3, 4, 5, 7]
    two, _, _, five, seven = plan.tasks
    assert (two.lane, two.description, two.prompt, two.priority) == (1, "Database models", ACTION, -20)
    assert (two.after, five.after, seven.after) == ((), (3, 4), (3,))
    assert seven.prefer_after == ()  # on a task that is done
    graph = build(plan.tasks, plan.lanes)
    assert [[graph.ids[number] for number in batch] for batch in batches(graph)] == [[2], [3, 4], [5, 7]]
    again = parse_plan(imported.raw, path=plan.path, notation="json")
    assert (again.tasks, again.lanes) == (plan.tasks, plan.lanes)


@pytest.mark.postgres
@pytest.mark.parametrize("form", FORMS)
def test_a_dump_of_a_server_becomes_a_plan_however_it_is_written(
    postgres: Server, shop: str, form: str, tmp_path: Path
) -> None:
    file = tmp_path / "dump.sql"
    file.write_text(dumped(postgres, shop, *FORMS[form]))
    imported = import_plan([file])
    check_shop(imported)
    assert imported.notes == NOTES


@pytest.mark.postgres
def test_a_dump_with_the_ends_of_lines_of_windows_says_the_same(postgres: Server, shop: str, tmp_path: Path) -> None:
    file = tmp_path / "dump.sql"
    file.write_bytes(dumped(postgres, shop).replace("\n", "\r\n").encode())
    check_shop(import_plan([file]))


@pytest.mark.postgres
def test_the_four_tables_alone_are_enough(postgres: Server, shop: str, tmp_path: Path) -> None:
    tables = ("tasks", "task_dependencies", "parallel_batches", "worktrees")
    (tmp_path / "dump.sql").write_text(dumped(postgres, shop, *(f"--table={table}" for table in tables)))
    imported = import_plan([tmp_path / "dump.sql"])
    assert [lane.name for lane in imported.plan.lanes] == ["backend-infrastructure", "authentication", "frontend"]
    assert imported.notes == NOTES


@pytest.mark.postgres
def test_tables_as_csv_say_the_same(postgres: Server, shop: str, tmp_path: Path) -> None:
    files = []
    for table in ("tasks", "epics", "task_dependencies", "parallel_batches", "worktrees"):
        files.append(tmp_path / f"{table}.csv")
        files[-1].write_text(as_csv(postgres, shop, table))
    imported = import_plan(files)
    check_shop(imported)
    assert imported.notes == NOTES


@pytest.mark.postgres
def test_one_of_several_projects_is_named(postgres: Server, both: str, tmp_path: Path) -> None:
    file = tmp_path / "dump.sql"
    file.write_text(dumped(postgres, both))
    with pytest.raises(UsageError, match="has tasks of 2 projects: shop, blog"):
        import_plan([file])
    check_shop(import_plan([file], project="shop"))
    check_shop(import_plan([file], project=SHOP))
    blog = import_plan([file], project="blog").plan
    assert blog == import_plan([file], project=OTHER).plan
    assert [task.id for task in blog.tasks] == [101, 102, 103, 104, 105, 106, 107]
    assert (blog.tasks[6].after, blog.tasks[6].prefer_after) == ((103,), (106,))
    with pytest.raises(NoSuchId) as caught:
        import_plan([file], project="shpo")
    assert caught.value.hint == "did you mean 'shop'?"


@pytest.mark.postgres
def test_a_dump_in_the_servers_own_format_is_named(postgres: Server, shop: str, tmp_path: Path) -> None:
    file = postgres.folder / "shop.dump"
    dumped(postgres, shop, "--format=custom", f"--file={file}")
    with pytest.raises(PlanError) as caught:
        import_plan([file])
    assert caught.value.hint == f"pg_restore -f dump.sql {file} writes SQL"


def tables(**more: object) -> dict[str, object]:
    return {"tasks": [{"id": 1, "epic_id": 1, "description": "d", "action": "a"}], **more}


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., Imported]:
    def read_json(raw: object) -> Imported:
        (tmp_path / "tables.json").write_text(json.dumps(raw))
        return import_plan([tmp_path / "tables.json"])

    return read_json


def test_tables_as_json_are_read_with_columns_that_nobody_knows(read: Callable[..., Imported]) -> None:
    task = {"id": 1, "epic_id": 3, "depends_on": [], "priority": 5, "done": False, "of_a_later_version": 7}
    plan: Plan = read({"tasks": [task], "elsewhere": [{"x": 1}]}).plan
    assert [(each.id, each.lane, each.priority) for each in plan.tasks] == [(1, 3, -5)]


def test_batches_that_differ_are_told(read: Callable[..., Imported]) -> None:
    two = [{"id": 1}, {"id": 2, "depends_on": [1]}, {"id": 3, "depends_on": [1], "dependency_type": "soft"}]
    recorded = [{"batch_number": 1, "task_ids": [1]}, {"batch_number": 2, "task_ids": "{2,3}"}]
    assert read({"tasks": two, "parallel_batches": recorded}).notes == (
        "batch 1 is 1 there and 1, 3 here",
        "batch 2 is 2, 3 there and 2 here",
    )
    assert read({"tasks": two, "parallel_batches": [{"batch_number": 1, "task_ids": [1, 3]}]}).notes == (
        "batch 2 is nothing there and 2 here",
    )
    many = [{"batch_number": number, "task_ids": []} for number in range(1, 20)]
    told = read({"tasks": [{"id": number} for number in range(19)], "parallel_batches": many}).notes
    assert told[0].startswith("batch 1 is nothing there and 0, 1, 2")
    chain = [{"id": number, "depends_on": [number - 1] if number else []} for number in range(19)]
    assert read({"tasks": chain, "parallel_batches": many}).notes[-1] == "9 more batches differ"


def test_a_circle_is_written_and_told(read: Callable[..., Imported]) -> None:
    circle = [{"id": 1, "depends_on": [2]}, {"id": 2, "depends_on": [1]}]
    imported = read({"tasks": circle, "parallel_batches": [{"batch_number": 1, "task_ids": [1]}]})
    assert imported.notes == (
        "batches cannot be compared: Circular dependencies detected: 1 -> 2 -> 1",
        "it cannot run yet: Circular dependencies detected: 1 -> 2 -> 1; "
        "remove one of these dependencies, or make it prefer_after",
    )


@pytest.mark.parametrize(
    ("state", "told"),
    [
        ("abandoned", "was given up there;"),
        ("cleanup", "was removed there;"),
        ("odd", "is not merged there (odd);"),
        (None, "is not merged there (no state);"),
        ("merged", "is merged there"),
    ],
)
def test_each_state_of_a_worktree_is_told(read: Callable[..., Imported], state: str | None, told: str) -> None:
    [note] = read(tables(worktrees=[{"epic_id": 1, "branch_name": "epic-1-x", "status": state}])).notes
    assert note.startswith(f"branch epic-1-x {told}")


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ([1], "is no object of tables"),
        ({"tasks": []}, "has no rows of a table tasks"),
        ({"tasks": 3}, "tasks in"),
        ({"tasks": [{"epic_id": 1}]}, ": row 1: id of tasks is None; it takes an id"),
        ({"tasks": [{"id": 1, "priority": "high"}]}, "priority of tasks is 'high'; it takes a whole number"),
        ({"tasks": [{"id": 1, "done": "perhaps"}]}, "done of tasks is 'perhaps'; it takes true or false"),
        ({"tasks": [{"id": 1, "depends_on": "1,2"}]}, "depends_on of tasks is '1,2'; it takes a list of ids: {1,2}"),
        ({"tasks": [{"id": 1, "depends_on": "{1,}"}]}, "it takes a list of ids: {1,2}"),
        ({"tasks": [{"id": 1, "dependency_type": "firm"}]}, "dependency_type in task '1'"),
        ({"tasks": [{"id": 1, "done": True}]}, "every task of"),
        (tables(task_dependencies=[{"task_id": 1}]), "depends_on_task_id of task_dependencies is None"),
        (tables(parallel_batches=[{"task_ids": []}]), "batch_number of parallel_batches is None"),
        (tables(worktrees=[{"branch_name": "x"}]), "epic_id of worktrees is None"),
    ],
)
def test_what_is_wrong_with_a_row_is_named(read: Callable[..., Imported], raw: object, message: str) -> None:
    with pytest.raises(PlanError) as caught:
        read(raw)
    assert message in caught.value.message


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("tasks.csv", "id,done\n1,f\n2\n", "tasks.csv:3: a row of 1 cells for 2 columns"),
        ("tasks.csv", 'id,action\n1,"two\nlines"\n2,x,y\n', "tasks.csv:4: a row of 3 cells for 2 columns"),
        ("tasks.csv", 'id,action\n1,"open', "tasks.csv:2: not CSV"),
        ("jobs.csv", "id\n1\n", "is called after none of the tables"),
        ("tables.json", "{", "tables.json"),
        ("dump.sql", "SELECT 1;\n", "has no rows of a table tasks"),
    ],
)
def test_what_is_wrong_with_a_file_is_named(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(BudwoodError) as caught:
        import_plan([tmp_path / name])
    assert message in caught.value.message
