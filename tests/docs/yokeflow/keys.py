"""Trials: keys of tasks and epics, tables of the database, words."""

import shlex
import sys
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.docs.yokeflow.ground import EXAMPLE, RUN, Ground, tries, writing
from tests.mcp import clients
from tests.support.yokeflow import EPICS, TASKS
from tests.workshop.site import Site

from budwood._core.events import LaneConflicted
from budwood.errors import PlanError
from budwood.formats.pg_dump import read_dump
from budwood.plans import Plan, parse_plan, read_plan
from budwood.plans.importing import import_plan


def read(ground: Ground, *tasks: Mapping[str, object], **more: object) -> Plan:
    return read_plan(ground.write("tasks.json", {"tasks": list(tasks), **more}))


@tries("task: `id`, `description`", "task: `epic_id`", "task: `action`")
def of_a_task(ground: Ground) -> None:
    [task] = read(ground, {"id": 7, "description": "d", "epic_id": 3, "action": "do it"}).tasks
    assert (task.id, task.description, task.lane, task.prompt) == (7, "d", 3, "do it")


@tries(
    'task: `depends_on` with `dependency_type` `"hard"`',
    'task: `depends_on` with `dependency_type` `"soft"`',
    'soft dependency ("informational only")',
)
def of_dependencies(ground: Ground) -> None:
    hard = {"id": 2, "depends_on": [1], "dependency_type": "hard"}
    soft = {"id": 3, "depends_on": [1], "dependency_type": "soft"}
    plan = read(ground, {"id": 1}, hard, soft)
    assert [(task.after, task.prefer_after) for task in plan.tasks] == [((), ()), ((1,), ()), ((), (1,))]
    assert ground.call("plan", "show", "tasks.json", "--json").json["batches"] == [[1, 3], [2]]


@tries("task: `priority`, the lower one first")
def of_priority(ground: Ground) -> None:
    tasks = [{"id": name, "run": f"echo {name} >> order"} for name in "abc"]
    priorities = [task.priority for task in read(ground, *({"id": n, "priority": n} for n in (30, 10, 20))).tasks]
    plan = {"task": [{**task, "priority": number} for task, number in zip(tasks, priorities, strict=True)]}
    ground.write("plan.json", plan)
    assert ground.call("run", "plan.json", "--slots", "1").code == 0
    assert (ground.folder / "order").read_text().split() == ["b", "c", "a"]


@tries("task: `done`")
def of_done(ground: Ground) -> None:
    plan = read(ground, {"id": 1, "done": True}, {"id": 2, "depends_on": [1]})
    assert [(task.id, task.after) for task in plan.tasks] == [(2, ())]
    assert ground.call("plan", "show", "tasks.json").err.startswith("note: 1 done and left out: 1\n")


@tries("epic: `id`, `name`", "epic: `depends_on`, `depends_on_epics`")
def of_an_epic(ground: Ground) -> None:
    epics = [{"id": 1, "name": "n"}, {"id": 2, "depends_on": [1]}, {"id": 3, "depends_on_epics": [2]}]
    lanes = read(ground, *({"id": n, "epic_id": n} for n in (1, 2, 3)), epics=epics).lanes
    assert [(lane.id, lane.name, lane.after) for lane in lanes] == [(1, "n", ()), (2, "", (1,)), (3, "", (2,))]


def tables(**more: object) -> dict[str, object]:
    tasks = [
        {"id": number, "epic_id": epic, "description": about, "depends_on": after, "of_another_version": 1}
        for number, (epic, about, after) in reversed(TASKS.items())
    ]
    return {"tasks": tasks, **more}


@tries("table `tasks`", "table `epics`", "table `task_dependencies`")
def of_tables(ground: Ground) -> None:
    plan = import_plan([ground.write("tables.json", tables())]).plan
    assert [task.id for task in plan.tasks] == [1, 2, 3, 4, 5, 6, 7]
    assert {lane.id: lane.name for lane in plan.lanes} == {1: "", 2: "", 3: ""}
    branches = [{"epic_id": 2, "branch_name": "epic-2-authentication"}]
    named = import_plan([ground.write("tables.json", tables(worktrees=branches))]).plan
    assert [lane.name for lane in named.lanes if lane.id == 2] == ["authentication"]
    epics = [{"id": number, "name": name} for number, name in EPICS.items()]
    edges = [{"task_id": 7, "depends_on_task_id": 6, "dependency_type": "soft"}, {"task_id": 7, "depends_on_id": 1}]
    whole = import_plan([ground.write("tables.json", tables(epics=epics, task_dependencies=edges))]).plan
    assert {lane.id: lane.name for lane in whole.lanes} == EPICS
    assert (whole.tasks[6].after, whole.tasks[6].prefer_after) == ((3, 1), (6,))


@tries("table `parallel_batches`", "table `worktrees`")
def of_what_is_told(ground: Ground) -> None:
    recorded = [{"batch_number": 1, "task_ids": [1], "status": "running"}]
    trees: list[Any] = [
        {"epic_id": 1, "branch_name": f"b-{state}", "status": state} for state in ("merged", "conflict", "active")
    ]
    notes = import_plan([ground.write("tables.json", tables(parallel_batches=recorded, worktrees=trees))]).notes
    assert "batch 1 is 1 there and 1, 6 here" in notes
    assert "batch 1 is running there: end that before these tasks are run here" in notes
    assert [note.partition(";")[0] for note in notes if note.startswith("branch")] == [
        "branch b-merged is merged there",
        "branch b-conflict has a conflict there",
        "branch b-active is not merged there (active)",
    ]


@tries("`pg_dump`, `--inserts`, `--column-inserts`, `--data-only`", "a dump that is cut off or edited")
def of_dumps(ground: Ground) -> None:
    copied = "COPY public.tasks (id, epic_id) FROM stdin;\n1\t2\n\\.\n"
    inserted = "CREATE TABLE tasks (id integer, epic_id integer);\nINSERT INTO public.tasks VALUES (1, 2);\n"
    named = "INSERT INTO public.tasks (id, epic_id) VALUES (1, 2);\n"
    found = [read_dump(text, path="d", tables=("tasks",))["tasks"][0].cells for text in (copied, inserted, named)]
    assert found == [{"id": "1", "epic_id": "2"}] * 3
    assert import_plan([ground.write("tasks.csv", "id,epic_id\n1,2\n")]).plan.tasks[0].lane == 2
    for broken in (copied.removesuffix("\\.\n"), copied.replace("\t2", ""), named[:-4]):
        with pytest.raises(PlanError, match=r"dump\.sql:\d+: "):
            import_plan([ground.write("dump.sql", broken)])


@tries("`pg_dump --format=custom`")
def of_another_form(ground: Ground) -> None:
    ground.write("own.dump", "PGDMP\x01")
    ran = ground.call("plan", "import", "own.dump")
    assert (ran.code, "hint: pg_restore -f dump.sql own.dump writes SQL" in ran.err) == (2, True)


@tries("epic", "worktree of an epic")
def of_lanes(ground: Ground) -> None:
    night = ground.shared.night
    attempts = sorted(
        (attempt["started_at"], attempt["finished_at"])
        for name in "123"
        for attempt in msgspec.json.decode(night.call("show", RUN, name, "--json").out)["attempts"]
    )
    assert all(ended <= begun for (_, ended), (begun, _) in pairwise(attempts))
    assert not (night.root / ".worktrees").exists()
    assert not night.pool.is_relative_to(night.root)
    assert night.git("ls-tree", "-r", "--name-only", "epic-2-authentication", "made/").split() == [
        f"made/{number}.txt" for number in (1, 2, 3, 4, 5)
    ]


@tries("session", "batch", "max concurrency")
def of_runs(ground: Ground) -> None:
    slow = {"id": "slow", "run": "until [ -e b ]; do sleep 0.02; done"}
    tasks = [{"id": "a", "run": "true"}, slow, {"id": "b", "run": "touch b", "after": ["a"]}]
    ground.write("plan.json", {"task": tasks})
    ran = ground.call("run", "plan.json", "--slots", "2")
    assert ran.code == 0, ran.err  # b, of batch 2, did not wait for all of batch 1
    assert "plan: 3 done" in ran.err
    assert ground.call("plan", "show", "plan.json", "--json").json["batches"] == [["a", "slow"], ["b"]]


@tries("circular dependency `[(A, B, C, A)]`")
def of_circles(ground: Ground) -> None:
    circle = {"A": "B", "B": "C", "C": "A"}
    ground.write("tasks.json", [{"id": task, "action": "x", "depends_on": [other]} for task, other in circle.items()])
    ran = ground.call("run", "tasks.json", "--agent", "script")
    assert ran.code == 2
    assert ran.err.startswith("error: Circular dependencies detected: A -> B -> C -> A\n")
    assert not (ground.folder / ".budwood").exists()


@tries("`graph.missing_deps`")
def of_what_is_missing(ground: Ground) -> None:
    ground.write("tasks.json", [{"id": 1, "depends_on": [99]}])
    assert "task '1' has '99' in after, but no task is called that" in ground.call("plan", "check", "tasks.json").err


@tries("two epics modify the same file", "giant epics of 50 and more tasks")
def of_warnings(ground: Ground) -> None:
    touching = [{"id": name, "lane": name, "run": "true", "touches": ["package.json"]} for name in "ab"]
    ground.write("plan.json", {"lane": [{"id": "a"}, {"id": "b"}], "task": touching})
    assert (
        "tasks 'a' (package.json) and 'b' (package.json) may change the same files"
        in ground.call("plan", "check", "plan.json").out
    )
    ground.write("tasks.json", [{"id": number, "epic_id": 1, "action": "x"} for number in range(51)])
    assert msgspec.json.decode(ground.shared.night.call("plan", "conflicts", RUN, "--json").out)["conflicts"] == []
    assert "lane '1' has 51 tasks" in ground.call("plan", "check", "tasks.json").out


@tries("`--merge-strategy regular`", "`--merge-strategy squash`", "`merge_worktree(epic_id=42)`")
def of_merging(ground: Ground) -> None:
    site = ground.epics(writing(1, 42, "a.txt"), writing(2, 43, "b.txt"), names={42: "a", 43: "b"}, merge="squash")
    site.call("run", "night.json")
    site.git("stash", "-q")
    _commit(site)
    site.call("merge", RUN, "42", "--no-squash")
    assert site.git("log", "-1", "--format=%p").count(" ") == 1  # two parents
    site.call("merge", RUN, "43")
    assert site.git("log", "-1", "--format=%p").count(" ") == 0
    assert site.git("ls-tree", "--name-only", "main", "a.txt", "b.txt").split() == ["a.txt", "b.txt"]
    assert parse_plan(b'[run]\nmerge = "regular"\n[[task]]\nid = 1\nrun = "x"', path="p").run == {"merge": "regular"}


def _commit(site: Site) -> None:
    (site.root / "mine.txt").write_text("mine\n")
    site.git("add", "mine.txt")
    site.git("commit", "-qm", "mine", "--no-verify")


@tries("`WorktreeConflictError`", "resolve by hand, commit, run again", "merging into main")
def of_conflicts(ground: Ground) -> None:
    files = [writing(1, 42, "a.txt"), writing(2, 43, "a.txt"), writing(3, 44, "c.txt")]
    site = ground.epics(*files, names={42: "a", 43: "b", 44: "c"})
    site.call("run", "night.json")
    main = site.git("rev-parse", "main")
    assert "conflict  lane 43: a.txt" in site.call("merge", RUN, code=5).err
    assert [lane["state"] for lane in _lanes(site)] == ["merged", "conflict", "merged"]
    [conflict] = [event for event in site.events(RUN) if isinstance(event, LaneConflicted)]
    assert "a.txt" in str(conflict)
    place = Path(site.call("open", RUN, "43").out.strip())
    (place / "a.txt").write_text("by both\n")
    site.git("commit", "-qam", "resolved", cwd=place)
    site.call("resume", RUN)
    assert [lane["state"] for lane in _lanes(site)] == ["merged"] * 3
    assert site.git("show", f"budwood/{RUN}:a.txt") == "by both"
    assert site.git("rev-parse", "main") == main
    site.git("stash", "-q")
    site.call("merge", RUN, "--into", "main")
    assert (site.root / "a.txt").read_text() == "by both\n"


def _lanes(site: Site) -> list[Any]:
    found: list[Any] = msgspec.json.decode(site.call("lanes", RUN, "--json").out)["lanes"]
    return found


@tries("completed worktrees are merged without being asked")
def of_what_is_merged(ground: Ground) -> None:
    site = ground.epics(
        writing(1, 42, "a.txt"), writing(2, 43, "b.txt"), names={42: "a", 43: "b"}, verify="test -e a.txt -a -e b.txt"
    )
    site.call("run", "night.json")
    assert site.git("ls-tree", "--name-only", f"budwood/{RUN}", "a.txt", "b.txt").split() == ["a.txt", "b.txt"]
    assert site.git("ls-tree", "--name-only", "main", "a.txt") == ""
    night = ground.shared.night  # without verify: merged when asked
    assert "waiting" in night.call("lanes", RUN).out


@tries("MCP `create_task` from a running session")
def of_what_is_added(ground: Ground) -> None:
    ground.write("plan.json", {"task": [{"id": 1, "run": "echo 1 >> did"}]})
    ground.call("run", "plan.json")
    ground.write(
        "plan.json", {"task": [{"id": 1, "run": "echo 1 >> did"}, {"id": 2, "run": "echo 2 >> did", "after": [1]}]}
    )
    assert ground.call("run", "plan.json").code == 0
    assert (ground.folder / "did").read_text().split() == ["1", "2"]
    _create_by_mcp(ground)


def _create_by_mcp(ground: Ground) -> None:
    """Let a task make the call of YokeFlow's guide, through the official client."""
    first = {"lane": 1, "description": "Implement user authentication", "run": "echo auth >> did"}
    then = {"lane": 1, "description": "Build user dashboard", "run": "echo dashboard >> did", "priority": 10}
    created = "implement-user-authentication"
    calls = [("create_task", first), ("create_task", {**then, "depends_on": [created], "dependency_type": "hard"})]
    ground.write("calls.json", calls)
    command = shlex.join([sys.executable, clients.__file__, "calls.json", "answers.json"])
    ground.write("agents.json", {"lane": [{"id": 1}], "task": [{"id": "session", "lane": 1, "run": command}]})
    assert ground.call("run", "agents.json").code == 0
    assert (ground.folder / "did").read_text().split()[2:] == ["auth", "dashboard"]


@tries("look at the graph before you run")
def of_looking(ground: Ground) -> None:
    dry = ground.call("run", EXAMPLE, "--agent", "script", "--dry-run")
    assert "nothing was started or written" in dry.err + dry.out
    assert ground.call("plan", "check", EXAMPLE).code == 0
