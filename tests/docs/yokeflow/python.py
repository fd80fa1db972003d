"""Trials: calls from Python, events of callbacks, drawings, and what is asked of the database."""

import asyncio
from pathlib import Path

import msgspec
import pytest
from tests.api.world import held
from tests.cli.world import wait_for
from tests.docs.yokeflow.ground import EXAMPLE, RUN, Ground, asked, tries

import budwood
from budwood.plans import read_plan

DONE = {"task_complete", "batch_complete", "batch_started", "task_started"}


@tries("`ParallelExecutor(project_path=…)`", "`ParallelExecutor(max_concurrency=5)`")
def of_a_file(ground: Ground) -> None:
    ground.write("plan.json", {"task": [{"id": 1, "run": "pwd > where"}]})
    run = budwood.start(ground.folder / "plan.json", directory=ground.folder, slots=5)
    assert run.wait().exit_code == 0
    assert (ground.folder / "where").read_text().strip() == str(ground.folder)
    assert asked(ground.folder, "SELECT slots FROM runs") == [(5,)]


@tries("`ParallelExecutor(project_id=…)`")
def of_a_name(ground: Ground) -> None:
    tasks = [budwood.command("echo did >> did", id=1)]
    runs = [budwood.start(tasks, name="shop", directory=ground.folder) for _ in range(2)]
    assert runs[1].wait().exit_code == 0
    assert (runs[0].id, (ground.folder / "did").read_text()) == (runs[1].id, "did\n")


@tries("`ParallelExecutor(db_connection=db)`")
def of_a_store(ground: Ground) -> None:
    run = budwood.start([budwood.command("true")], directory=ground.folder, store=ground.folder / "elsewhere.db")
    assert run.wait().exit_code == 0
    assert (ground.folder / "elsewhere.db").exists()
    with pytest.raises(budwood.StoreError):  # it was asked, and is not there
        budwood.start([budwood.command("true")], directory=ground.folder, store="postgresql://nobody@127.0.0.1:1/none")


@tries("`results = await executor.execute()`", "`result.task_id`, `result.duration`, `result.cost`")
def of_results(ground: Ground) -> None:
    async def main() -> list[budwood.Result]:
        spend = """echo '{"cost_usd": 0.5}' > "$BUDWOOD_USAGE"; sleep 0.05"""
        run = budwood.start([budwood.command(spend, id=7)], directory=ground.folder, name="night")
        assert (await run).exit_code == 0
        return run.results()

    [result] = asyncio.run(main())
    assert (result.task, result.cost_usd, result.duration_s >= 0.05) == (7, 0.5, True)
    cost = msgspec.json.decode(ground.call("cost", "night", "--json").raw)
    assert [(row["task"], row["cost_usd"]) for row in cost["tasks"]] == [(7, 0.5)]


@tries(
    "`db.create_task(epic_id=1, action=…, priority=10, depends_on=[456])`",
    "`db.create_task(…, dependency_type='soft')`",
)
def of_tasks(ground: Ground) -> None:
    made = budwood.prompt("Create it.", lane=1, priority=-10, after=[456])
    theirs = {"id": made.id, "epic_id": 1, "action": "Create it.", "priority": 10, "depends_on": [456]}
    assert read_plan(ground.write("tasks.json", [theirs])).tasks == (made,)
    soft = budwood.prompt("Create it.", lane=1, priority=-10, prefer_after=[456], id=made.id)
    assert read_plan(ground.write("tasks.json", [{**theirs, "dependency_type": "soft"}])).tasks == (soft,)


@tries("`asyncio` cancellation of the executor")
def of_stopping(ground: Ground) -> None:
    def begin(name: str) -> budwood.Run:
        run = budwood.start(
            [held(name), budwood.command("true", after=[name])], name=name, directory=ground.folder, slots=1
        )
        wait_for((ground.folder / f"began-{name}").exists, what="it to begin")
        return run

    ended = begin("ended")
    ended.cancel()
    assert (ended.wait().exit_code, ended.state) == (1, "cancelled")
    stopped = begin("stopped")
    stopped.stop()
    (ground.folder / "go").touch()
    verdict = stopped.wait()
    assert (verdict.exit_code, verdict.counts["done"]) == (130, 1)
    assert budwood.resume("stopped", directory=ground.folder).wait().counts["done"] == 2


@tries(
    "`ParallelExecutor(progress_callback=f)`",
    "`batch_started`: `batch_number`, `task_count`",
    "`task_started`: `task_id`, `epic_id`",
    "`task_complete`: `task_id`, `duration`, `cost`",
    "`batch_complete`: `batch_number`",
    "`cost_update`",
)
def of_events(ground: Ground) -> None:
    heard = ground.shared.heard
    by_type = {kind: [event for event in heard if event["type"] == kind] for kind in DONE}
    sizes = {each["batch_number"]: each["task_count"] for each in by_type["batch_started"]}
    assert sizes == {1: 2, 2: 1, 3: 2, 4: 2}
    assert {each["task_id"]: each["epic_id"] for each in by_type["task_started"]} == {
        1: 1,
        2: 1,
        3: 1,
        4: 2,
        5: 2,
        6: 3,
        7: 3,
    }
    assert all(isinstance(each["duration"], float) and each["cost"] == 0.0625 for each in by_type["task_complete"])
    assert len(by_type["task_complete"]) == 7
    assert [each["batch_number"] for each in by_type["batch_complete"]] == [1, 2, 3, 4]
    assert sum(float(str(each["cost"])) for each in by_type["task_complete"]) == ground.shared.guide.cost_usd == 0.4375


@tries("nothing when a task fails")
def of_failures(ground: Ground) -> None:
    heard: list[dict[str, object]] = []
    tell = budwood.yokeflow_callback(heard.append)
    budwood.start([budwood.command("exit 3", id=1, lane=2)], directory=ground.folder, on_event=tell).wait()
    [failed] = [event for event in heard if event["type"] == "task_failed"]
    assert set(failed) == {"type", "task_id", "epic_id", "batch_number", "duration", "cost", "error"}
    assert (failed["task_id"], failed["epic_id"], failed["error"]) == (1, 2, "exit")


@tries("`AgentOrchestrator(verbose=True)`")
def of_lines(ground: Ground) -> None:
    ground.write("plan.json", {"task": [{"id": 1, "run": "echo said"}]})
    lines = [msgspec.json.decode(line) for line in ground.call("run", "plan.json", "--jsonl").raw.splitlines()]
    assert [line["number"] for line in lines] == list(range(1, len(lines) + 1))
    assert "run_ended" in [line["event"] for line in lines]
    assert ground.call("logs", "plan").out == "1 | said\n"


@tries(
    "`DependencyResolver(db).resolve(tasks)`", "`graph.batches`, `graph.task_order`", "`resolver.get_critical_path()`"
)
def of_graphs(ground: Ground) -> None:
    graph = ground.shared.guide.graph
    own = budwood.Graph(read_plan(ground.write("t.json", [{"id": 1}, {"id": 2, "depends_on": [1]}])).tasks)
    assert (own.batches, own.tasks) == ([[1], [2]], [1, 2])
    assert (graph.batches, graph.tasks) == ([[1, 6], [2], [3, 4], [5, 7]], [1, 2, 3, 4, 5, 6, 7])
    assert graph.longest_path == [1, 2, 3, 5]
    assert "longest path: 1 -> 2 -> 3 -> 5" in ground.call("plan", "show", EXAMPLE).err


@tries(
    "`resolver.to_mermaid()`", "`resolver.to_ascii()`", "`to_mermaid(epic_filter=1)`", "`to_mermaid(batch_filter=0)`"
)
def of_drawings(ground: Ground) -> None:
    plan = read_plan(ground.write("tasks.json", Path(EXAMPLE).read_text(encoding="utf-8")))
    graph = budwood.Graph(plan.tasks, plan.lanes)

    def show(*words: str) -> str:
        return ground.call("plan", "show", "tasks.json", *words).out

    assert graph.to_mermaid() == show("--mermaid")
    assert graph.to_ascii() == show("--ascii")
    assert graph.to_mermaid(lane=1) == show("--mermaid", "--lane", "1")
    assert graph.to_mermaid(batch=1) == show("--mermaid", "--batch", "1")
    assert [name for name in graph.tasks if f'["{name}: ' in graph.to_mermaid(lane=1)] == [1, 2, 3]
    assert [name for name in graph.tasks if f'["{name}: ' in graph.to_mermaid(batch=1)] == [1, 6]
    assert graph.to_mermaid().count("-->") == 6


@tries("`db.list_tasks(project)`")
def of_listed_tasks(ground: Ground) -> None:
    night = ground.shared.night
    shown = msgspec.json.decode(night.call("show", RUN, "--json").out)["tasks"]
    assert [(each["id"], each["lane"], each["state"]) for each in shown][3] == (4, 2, "done")
    assert asked(night.root, "SELECT task, lane, state FROM tasks ORDER BY number")[3] == (4, 2, "done")
    assert [(each.id, each.lane, each.state) for each in ground.shared.guide.tasks()][3] == (4, 2, "done")


@tries("`db.get_parallel_batches(project)`", "`batch['batch_number']`, `batch['tasks']`")
def of_batches(ground: Ground) -> None:
    batches = ground.shared.guide.batches()
    assert [(batch.number, batch.tasks) for batch in batches] == [(1, (1, 6)), (2, (2,)), (3, (3, 4)), (4, (5, 7))]
    rows = asked(ground.shared.night.root, "SELECT batch, tasks, done FROM batches ORDER BY batch")
    assert rows == [(1, 2, 2), (2, 1, 1), (3, 2, 2), (4, 2, 2)]


@tries("`db.list_worktrees(project)`", "`wt['epic_id']`, `wt['status']`, `wt['branch_name']`")
def of_lanes(ground: Ground) -> None:
    night = ground.shared.night
    told = msgspec.json.decode(night.call("lanes", RUN, "--json").out)["lanes"]
    assert [(each["lane"], each["state"], each["branch"]) for each in told] == [
        (1, "waiting", "epic-1-backend-infrastructure"),
        (2, "waiting", "epic-2-authentication"),
        (3, "waiting", "epic-3-frontend"),
    ]
    assert asked(night.root, "SELECT lane, done, tasks FROM lanes ORDER BY lane") == [(1, 3, 3), (2, 2, 2), (3, 2, 2)]
    assert [(lane.id, lane.state, lane.tasks) for lane in ground.shared.guide.lanes()] == [
        (1, "waiting", (1, 2, 3)),
        (2, "waiting", (4, 5)),
        (3, "waiting", (6, 7)),
    ]


@tries("`db.get_session(session_id)`", "`session['total_cost']`, `session['duration_seconds']`")
def of_sessions(ground: Ground) -> None:
    night = ground.shared.night
    run = budwood.open_run(RUN, directory=night.root)
    assert (run.cost_usd, run.duration_s > 0) == (1.75, True)
    [(cost, took_s)] = asked(night.root, "SELECT cost_usd, duration_s FROM runs")
    assert cost == 1.75
    assert isinstance(took_s, float)
